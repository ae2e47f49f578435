// What every endpoint works with: the server's parts, and what is known of one request to a resource.
import type { Clock, JsonObject, KubeObject, UserInfo } from '@fairlead/kube'
import type { RequestAuthorizer } from '../identity/authorizer.ts'
import type { AdmissionChain } from '../admission/chain.ts'
import type { Registry, ServedResource } from '../registry/registry.ts'
import type { WriteContext } from '@fairlead/builtin-kinds'
import type { SubresourceEndpoints } from './resource-handlers.ts'
import type { ServedStore } from '../storage/served-store.ts'
import type { Turns } from './keyed-mutex.ts'
import type { Views } from '../views/views.ts'

/** The parts of the server that endpoints use. */
export interface Environment {
  readonly store: ServedStore
  readonly registry: Registry
  readonly views: Views
  readonly clock: Clock
  readonly admission: AdmissionChain
  /** Asked again where a request turns out to need more than its verb says. */
  readonly authorizer: RequestAuthorizer
  /** For writers of the same object. */
  readonly turns: Turns
  /** Between 0 and 1, for generated names. */
  readonly random: () => number
  readonly newUid: () => string
  /** Endpoints of subresources that are not the object itself. */
  readonly subresources: SubresourceEndpoints
  /** Another object as stored, from memory. */
  readonly read: (resource: string, key: string) => KubeObject | undefined
  /** Every object of a resource as stored, from memory. */
  readonly list: (resource: string) => Iterable<KubeObject>
}

/** An object as its subresource shows it, and the way back for what admission changes. */
export interface ShownForm {
  of(object: KubeObject): KubeObject
  /** Brings a changed form into the object, in place. */
  take(object: JsonObject, shown: KubeObject): void
}

/** A request to a resource, after routing and authorization. */
export interface ResourceCall {
  readonly resource: ServedResource
  /** '' for cluster-scoped resources and for lists over all namespaces. */
  readonly namespace: string
  readonly name: string
  /** The object is one of a collection that is deleted. */
  readonly isCollection?: boolean
  readonly subresource: string
  readonly query: URLSearchParams
  readonly user: UserInfo
  readonly userAgent: string
  readonly signal: AbortSignal
  /** What admission is shown in the object's place, for subresources of another kind (Scale). */
  readonly shown?: ShownForm
  /** Texts for `Warning` headers, in order; endpoints add to it. */
  readonly warnings: string[]
}

/** The store's key of a name. */
export function keyOfCall(call: ResourceCall, name: string = call.name): string {
  return call.namespace === '' ? name : `${call.namespace}/${name}`
}

/** What a strategy may look at in this request. */
export function writeContext(environment: Environment, call: ResourceCall, dryRun: boolean): WriteContext {
  return {
    user: call.user,
    now: environment.clock.now(),
    apiVersion: call.resource.apiVersion,
    subresource: call.subresource,
    dryRun,
    newUid: environment.newUid,
    read: environment.read,
    list: environment.list,
    warn: (text) => call.warnings.push(text),
  }
}

/** A time as metadata shows it: whole seconds. */
export function timestamp(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000)
  if (second !== lastSecond.second) {
    lastSecond.text = `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
    lastSecond.second = second
  }
  return lastSecond.text
}

/** Many objects are written within one second. */
const lastSecond = { second: Number.NaN, text: '' }
