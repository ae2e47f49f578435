// The changes that Kubernetes' own admission plugins make to built-in kinds: Priority, DefaultTolerationSeconds,
// RuntimeClass, DefaultStorageClass, DefaultIngressClass, TaintNodesByCondition. The strategies of the kinds know them;
// webhooks receive the result, as in the real server.
import { randomUUID } from 'node:crypto'
import { asJson, cloneJson } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'
import type { Draft } from '@fairlead/builtin-kinds'
import type { AdmissionPlugin } from './plugin.ts'

/** Access of the plugin to time and stored objects. */
export interface KindAdmissionSource {
  readonly clock: Pick<Clock, 'now'>
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly list: (resource: string) => Iterable<KubeObject>
}

/** Returns the plugin. */
export function kindAdmissionPlugin({ clock, read, list }: KindAdmissionSource): AdmissionPlugin {
  return {
    name: 'KindAdmission',
    mutate({ operation, resource, subresource, object, oldObject, user, dryRun, warnings }) {
      const { strategy } = resource.definition
      const isWrite = operation === 'CREATE' || operation === 'UPDATE'
      if (strategy.admit === undefined || !isWrite || subresource !== '' || object === undefined) return undefined
      const draft = cloneJson(asJson(object)) as Draft
      strategy.admit(draft, oldObject, {
        user,
        now: clock.now(),
        apiVersion: resource.apiVersion,
        subresource,
        dryRun,
        newUid: randomUUID,
        read,
        list,
        warn: (text) => warnings.push(text),
      })
      return draft
    },
  }
}
