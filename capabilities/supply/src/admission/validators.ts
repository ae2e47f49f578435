// The validators of this capability. Admission and `fairlead supply render` run the same.
import type { Validator } from '@fairlead/controller'
import type { FieldError, KubeObject } from '@fairlead/kube'
import type { Blueprint, ClusterHealthRule, RunTemplate, Template } from '../api.ts'
import { apiGroup } from '../api.ts'
import { blueprintAccess, ownerAccess, runnableAccess } from './account-access.ts'
import { checkBlueprint } from './blueprint.ts'
import { checkHealthRule, checkRunTemplate, checkTemplate } from './template.ts'

function validator(
  resources: readonly string[],
  check: (object: KubeObject) => FieldError[],
  authorize?: Validator['authorize'],
): Validator {
  return { group: apiGroup, resources, validate: check, authorize }
}

const bySchema = (): FieldError[] => []

/**
 * Validators of all kinds. The fields of owners and Runnables are validated by their schemas; those of all that name a
 * service account require the right to impersonate it.
 */
export const validators: readonly Validator[] = [
  validator(['clustersupplychains'], (object) => checkBlueprint(object as Blueprint, 'Workload'), blueprintAccess),
  validator(['clusterdeliveries'], (object) => checkBlueprint(object as Blueprint, 'Deliverable'), blueprintAccess),
  validator(['workloads', 'deliverables'], bySchema, ownerAccess),
  validator(['runnables'], bySchema, runnableAccess),
  validator(
    [
      'clustersourcetemplates',
      'clusterimagetemplates',
      'clusterconfigtemplates',
      'clusterdeploymenttemplates',
      'clustertemplates',
    ],
    (object) => checkTemplate(object as Template),
  ),
  validator(['clusterruntemplates'], (object) => checkRunTemplate(object as RunTemplate)),
  validator(['clusterhealthrules'], (object) => checkHealthRule(object as ClusterHealthRule)),
]
