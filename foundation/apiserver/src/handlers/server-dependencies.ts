// ServerDependencies: the parts of the server that handlers use, the same for every request.
import type { WriteContext } from '@fairlead/builtin-kinds'
import type { Clock, JsonObject, KubeObject } from '@fairlead/kube'
import type { AdmissionChain } from '../admission/chain.ts'
import type { RequestAuthorizer } from '../identity/authorizer.ts'
import type { Registry } from '../registry/registry.ts'
import type { ProtobufDecoder } from '../request/body-decoder.ts'
import type { ProtobufEncoder } from '../protobuf/protobuf-encoder.ts'
import type { ServedStore } from '../storage/served-store.ts'
import type { Views } from '../views/views.ts'
import type { KeyedMutex } from '../storage/keyed-mutex.ts'
import type { RequestScope } from './request-scope.ts'
import type { ResourceHandlers } from './resource-handlers.ts'

/** Converts between JSON and the bytes of protobuf; without one nothing is protobuf. */
export interface ProtobufCodec {
  readonly decode: ProtobufDecoder
  readonly encode: ProtobufEncoder
  /** Encodes one frame of a watch. */
  encodeEvent(type: string, object: JsonObject): Uint8Array
}

/** The parts of the server that handlers use. */
export interface ServerDependencies {
  readonly store: ServedStore
  readonly registry: Registry
  readonly views: Views
  readonly clock: Clock
  readonly admission: AdmissionChain
  /** Consulted again where a request turns out to need more than its verb. */
  readonly authorizer: RequestAuthorizer
  /** Locks of objects that many requests write at once, by resource and key. */
  readonly writeLocks: KeyedMutex
  readonly protobuf: ProtobufCodec | undefined
  /** Returns a number between 0 and 1, for generated names. */
  readonly random: () => number
  readonly newUid: () => string
  /** Handlers of resources and subresources that are not objects in the store. */
  readonly handlers: ResourceHandlers
  /** Returns another object as stored, from memory. */
  readonly read: (resource: string, key: string) => KubeObject | undefined
  /** Returns every object of a resource as stored, from memory. */
  readonly list: (resource: string) => Iterable<KubeObject>
}

/** Returns what a strategy may read during this request. */
export function writeContext(server: ServerDependencies, scope: RequestScope, dryRun: boolean): WriteContext {
  return {
    user: scope.user,
    now: server.clock.now(),
    apiVersion: scope.resource.apiVersion,
    subresource: scope.subresource,
    dryRun,
    newUid: server.newUid,
    read: server.read,
    list: server.list,
    warn: (message) => scope.warnings.push(message),
  }
}
