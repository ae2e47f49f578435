// The strategy of CustomResourceDefinitions.
import type { Condition, DefinitionRules, JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import {
  asCustomResourceDefinition,
  asJson,
  asObject,
  condition,
  customResourceDefinitionWarnings,
  defaultCustomResourceDefinition,
  setCondition,
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionStatus,
} from '@fairlead/kube'
import type { Draft, Strategy } from '../definition/strategy.ts'
import { definitionRules } from '@fairlead/kube/cel'

/** The finalizer that holds a CRD until its objects are deleted. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

/** Returns the strategy of `customresourcedefinitions`; `rules` compiles their x-kubernetes-validations. */
export function definitionStrategy(rules: DefinitionRules = definitionRules): Strategy {
  return {
    applyDefaults(object) {
      const defaulted = asJson(defaultCustomResourceDefinition(asObject(object)))
      if (defaulted !== object) Object.assign(object, defaulted)
    },
    prepareForCreate(object) {
      object['status'] = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: [] }
      addStoredVersion(object)
    },
    prepareForUpdate(object, _old, { subresource }) {
      if (subresource === '') addStoredVersion(object)
    },
    prepareForDeletion: beginDeletion,
    validate: (object) => validateCustomResourceDefinition(object, undefined, rules),
    validateUpdate: (object, old) => validateCustomResourceDefinition(object, old, rules),
    validateStatusUpdate: (object) => validateCustomResourceDefinitionStatus(object),
    warnings: customResourceDefinitionWarnings,
    allowUnconditionalUpdate: false,
    hasStatus: true,
    tracksGeneration: true,
    resetFields: { '': [['status']], status: [['metadata'], ['spec']] },
  }
}

/** Adds the storage version to `status.storedVersions`, before objects are stored in it. */
function addStoredVersion(object: Draft): void {
  const { spec, status } = asCustomResourceDefinition(asObject(object))
  const storage = spec.versions.find((version) => version.storage === true)?.name
  const stored = status?.storedVersions ?? []
  if (storage === undefined || stored.includes(storage)) return
  object['status'] = { ...(status as JsonObject | undefined), storedVersions: [...stored, storage] }
}

/**
 * Marks the definition on the first DELETE; later ones are ordinary. @returns whether the object waits for its cleanup
 */
function beginDeletion(object: Draft, now: string): boolean {
  const { metadata } = object
  if (metadata['deletionTimestamp'] !== undefined) return false
  metadata['deletionTimestamp'] = now
  const finalizers = (metadata['finalizers'] as readonly string[] | undefined) ?? []
  if (!finalizers.includes(cleanupFinalizer)) metadata['finalizers'] = [...finalizers, cleanupFinalizer]
  const message = 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon'
  setDefinitionCondition(object, condition('Terminating', true, { reason: 'InstanceDeletionPending', message }), now)
  return true
}

/** Sets a condition in the status of a mutable definition. */
export function setDefinitionCondition(object: MutableJsonObject, next: Condition, now: string): void {
  const status = object['status'] as JsonObject | undefined
  const conditions = (status?.['conditions'] ?? []) as unknown as readonly Condition[]
  object['status'] = {
    ...status,
    conditions: setCondition(conditions, next, now) as readonly JsonObject[] as JsonValue,
  }
}
