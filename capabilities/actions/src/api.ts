// The API types: the generated ones under shorter names.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type {
  KindActionMapping,
  KindActionMappingSpec,
  KindActionMappingSpecMapping,
  KindActionMappingStatus,
} from './generated/crds.ts'

export type { KindActionMapping, KindActionMappingSpec, KindActionMappingStatus }

/** One of `spec.mappings`, `spec.statusMappings` and `spec.sectionMappings`. */
export type MappingRule = KindActionMappingSpecMapping

/** A KindActionMapping as clients return it. */
export type KindActionMappingObject = KindActionMapping & KubeObject

/** The API group of this capability. */
export const apiGroup = 'actions.kappnav.io'
/** apiVersion of the API; `actions.kappnav.io/v1beta1`, the seed's, is served with the same schema. */
export const apiVersion = 'actions.kappnav.io/v1'

/** KindActionMapping, for clients. */
export const kindActionMapping: Kind<KindActionMappingObject> = kind<KindActionMappingObject>(
  apiVersion,
  'KindActionMapping',
  {
    plural: 'kindactionmappings',
    namespaced: true,
  },
)
