// The APIServices of capabilities that serve resources of their own storage.
import type { Capability } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { apiPort, labelsOf } from './install-options.ts'
import type { InstallOptions } from './install-options.ts'
import { apiServiceNames } from './server-roles.ts'

/** Priorities as `ExtensionServer` applies them. */
const [groupPriorityMinimum, versionPriority] = [1000, 100]

/** Returns the APIServices of a capability; `fairlead run` adds the CA bundle. */
export function apiServices(capability: Capability, options: InstallOptions): KubeObject[] {
  const { name, namespace } = options
  return apiServiceNames(capability).map((id, rank) => {
    const dot = id.indexOf('.')
    return {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: id, labels: labelsOf(options) },
      spec: {
        group: id.slice(dot + 1),
        version: id.slice(0, dot),
        service: { name, namespace, port: apiPort },
        groupPriorityMinimum,
        versionPriority: versionPriority - rank,
      },
    } as unknown as KubeObject
  })
}
