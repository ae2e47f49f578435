// The validators of this capability. Admission and `fairlead supply render` run the same.
import type { Validator } from '@fairlead/controller'
import type { FieldError, KubeObject } from '@fairlead/kube'
import type { Blueprint, ClusterHealthRule, RunTemplate, Template } from '../api.ts'
import { apiGroup } from '../api.ts'
import { checkBlueprint } from './blueprint.ts'
import { checkHealthRule, checkRunTemplate, checkTemplate } from './template.ts'

function validator(resources: readonly string[], check: (object: KubeObject) => FieldError[]): Validator {
  return { group: apiGroup, resources, validate: check }
}

/** Validators of blueprints, templates and ClusterHealthRules. Owners and Runnables need no more than their schemas. */
export const validators: readonly Validator[] = [
  validator(['clustersupplychains'], (object) => checkBlueprint(object as Blueprint, 'Workload')),
  validator(['clusterdeliveries'], (object) => checkBlueprint(object as Blueprint, 'Deliverable')),
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
