// The kinds of the API, for clients.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { ReferenceGrant, ReferenceRule } from '../api.ts'
import { apiVersion } from '../api.ts'

/** A ReferenceRule as the client reads it. */
export type ReferenceRuleObject = ReferenceRule & KubeObject
/** A ReferenceGrant as the client reads it. */
export type ReferenceGrantObject = ReferenceGrant & KubeObject

/** ReferenceRule. */
export const referenceRuleKind: Kind<ReferenceRuleObject> = kind<ReferenceRuleObject>(apiVersion, 'ReferenceRule', {
  plural: 'referencerules',
  namespaced: false,
})

/** ReferenceGrant. */
export const referenceGrantKind: Kind<ReferenceGrantObject> = kind<ReferenceGrantObject>(apiVersion, 'ReferenceGrant', {
  plural: 'referencegrants',
  namespaced: true,
})
