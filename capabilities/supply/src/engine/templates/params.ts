// Parameters of a resource from their four sources (originals/cartographer.md §1.9): template, blueprint, resource of the blueprint, owner. A
// `value` locks the owner out, a later `default` opens again.
import { setOwn } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import type { BlueprintParam, OwnerParam, TemplateParam } from '../../api.ts'

/** The lists of each source. */
export interface ParamSources {
  readonly template?: readonly TemplateParam[]
  readonly blueprint?: readonly BlueprintParam[]
  readonly resource?: readonly BlueprintParam[]
  readonly owner?: readonly OwnerParam[]
}

/** The params that a template sees, by name: those of owner, resource and blueprint over its own defaults. */
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
