// upsert-resource: adds the resources of its config, or replaces those of the same type, name and namespace.
import type { YAMLMap } from 'yaml'
import { Document, isMap } from 'yaml'
import { listAt, textAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import { Resource } from '../engine/render/resource.ts'
import { syncWithInput } from '../engine/render/input-sync.ts'
import { failed } from './results.ts'

const targetPath = 'config.kubernetes.io/target-path'
const functionAnnotations = ['config.kubernetes.io/function', 'config.k8s.io/function']

/** Adds or replaces the config itself, or the items of a `List`. */
export function upsertResource({ items, config }: FunctionInput): FunctionOutcome {
  if (config === undefined)
    return failed(
      'failed to upsert resource: `functionConfig` is missing',
      'failed to upsert resource: `functionConfig` is missing',
    )
  let current = [...items]
  const wanted =
    textAt(config, 'kind') === 'List'
      ? (listAt(config, 'items')?.items ?? []).filter((item): item is YAMLMap => isMap(item))
      : [config]
  for (const fields of wanted) current = upsert(current, fields)
  return { items: current, results: [] }
}

function upsert(items: readonly Resource[], fields: YAMLMap): Resource[] {
  const probe = resourceOf(fields)
  const path = probe.annotation(targetPath)
  const isSame = (item: Resource): boolean =>
    item.group === probe.group &&
    item.kind === probe.kind &&
    item.name === probe.name &&
    item.namespace === probe.namespace &&
    (path === undefined || path === '' || path === item.location.path) &&
    !functionAnnotations.some((key) => item.annotation(key) !== undefined)
  if (items.some((item) => isSame(item)))
    return items.map((item) => {
      if (!isSame(item)) return item
      const replacement = resourceOf(fields, item)
      // The orchestrator gives the replacement the comments and key order of what it replaces, as after every function.
      syncWithInput(item.fields, replacement.fields)
      return replacement
    })
  const added = resourceOf(fields)
  for (const key of [targetPath, ...functionAnnotations]) added.removeAnnotation(key)
  if (path !== undefined && path !== '') added.location = { ...added.location, path }
  return [...items, added]
}

function resourceOf(fields: YAMLMap, replaced?: Resource): Resource {
  const document = new Document()
  document.contents = fields.clone() as unknown as Document['contents']
  const location = replaced?.location ?? { packagePath: undefined, path: undefined, index: undefined }
  const resource = new Resource(document, location, replaced?.sequenceIndent)
  if (replaced !== undefined) for (const key of [targetPath, ...functionAnnotations]) resource.removeAnnotation(key)
  return resource
}
