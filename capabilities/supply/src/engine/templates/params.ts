// The parameters of a resource, merged from four sources (originals/cartographer.md §1.9): template, blueprint,
// resource of the blueprint, owner. An owner cannot override a `value`; a later `default` makes the parameter
// overridable again.
import { setOwn } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import type { BlueprintParam, OwnerParam, TemplateParam } from '../../api.ts'

/** The parameters of each source. */
export interface ParamSources {
  readonly template?: readonly TemplateParam[]
  readonly blueprint?: readonly BlueprintParam[]
  readonly resource?: readonly BlueprintParam[]
  readonly owner?: readonly OwnerParam[]
}

/**
 * Returns the merged parameters by name: owner before resource before blueprint before the defaults of the template.
 */
export function mergeParams({ template = [], blueprint = [], resource = [], owner = [] }: ParamSources): JsonObject {
  const values = new Map<string, { value: JsonValue; locked: boolean }>()
  for (const param of template) values.set(param.name, { value: param.default, locked: false })
  for (const param of [...blueprint, ...resource]) {
    const locked = param.value !== undefined
    const value = locked ? param.value : param.default
    if (value !== undefined) values.set(param.name, { value, locked })
  }
  for (const param of owner) {
    if (values.get(param.name)?.locked !== true) values.set(param.name, { value: param.value, locked: false })
  }
  const merged: MutableJsonObject = {}
  for (const [name, { value }] of values) setOwn(merged, name, value)
  return merged
}
