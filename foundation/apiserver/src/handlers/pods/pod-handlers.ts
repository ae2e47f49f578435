// The subresources of Pods that are more than a view of the Pod, and the proxies of services and nodes.
import type { ResourceHandlers } from '../resource-handlers.ts'
import { handleBinding } from './binding.ts'
import { refuseConnection, refuseProxy } from './connection.ts'
import { handleEviction } from './eviction.ts'
import { logHandler } from './log.ts'
import type { PodLogs } from './log.ts'

/** Returns the handlers of Pods; `logs` is the source of their logs. */
export function podHandlers(logs?: PodLogs): ResourceHandlers {
  return {
    'pods/binding': handleBinding,
    bindings: handleBinding,
    'pods/eviction': handleEviction,
    'pods/log': logHandler(logs),
    'pods/exec': refuseConnection,
    'pods/attach': refuseConnection,
    'pods/portforward': refuseConnection,
    'pods/proxy': refuseConnection,
    'services/proxy': refuseProxy,
    'nodes/proxy': refuseProxy,
  }
}
