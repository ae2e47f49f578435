// The types of the API: the generated ones under shorter names.
import type {
  CompositeController as GeneratedCompositeController,
  CompositeControllerSpecHooksSync,
  DecoratorController as GeneratedDecoratorController,
  MapController,
  MapControllerSpec,
  MapControllerSpecEndpointConfig,
  MapControllerSpecHooksMap,
  MapControllerSpecHooksMapRelatedResource,
  MapControllerSpecHooksMapWebhook,
  MapControllerSpecHooksTombstone,
  MapControllerSpecInputResource,
  MapControllerSpecOutputResource,
  MapControllerSpecOutputResourceUpdateStrategy,
  MapControllerSpecParentResource,
  MapControllerStatus,
  MapControllerStatusShard,
} from './generated/crds.ts'

export type { MapController, MapControllerSpec, MapControllerStatus }

/** `spec.parentResource`. */
export type ParentResource = MapControllerSpecParentResource
/** One of `spec.inputResources`. */
export type InputResource = MapControllerSpecInputResource
/** One of `spec.outputResources`. */
export type OutputResource = MapControllerSpecOutputResource
/** `updateStrategy.method` of an output resource. */
export type UpdateMethod = MapControllerSpecOutputResourceUpdateStrategy['method']
/** `spec.hooks.map`. */
export type MapHook = MapControllerSpecHooksMap
/** `spec.hooks.tombstone`. */
export type TombstoneHook = MapControllerSpecHooksTombstone
/** A hook behind HTTP. */
export type Webhook = MapControllerSpecHooksMapWebhook
/** One of `spec.endpointConfigs`. */
export type EndpointConfig = MapControllerSpecEndpointConfig
/** One of `spec.hooks.map.relatedResources`. */
export type RelatedResource = MapControllerSpecHooksMapRelatedResource
/** One of `status.shards`. */
export type ShardReport = MapControllerStatusShard
/** `version` of a hook: the form of keys, and whether responses are read strictly. */
export type HookVersion = MapHook['version']

/** The API group of this capability. */
export const apiGroup = 'metacontroller.k8s.io'
/** apiVersion of the API. */
export const apiVersion = 'metacontroller.k8s.io/v1alpha1'

/** A CompositeController. */
export type CompositeController = GeneratedCompositeController
/** A DecoratorController. */
export type DecoratorController = GeneratedDecoratorController
/** A hook of a CompositeController or DecoratorController. */
export type SyncHook = CompositeControllerSpecHooksSync
