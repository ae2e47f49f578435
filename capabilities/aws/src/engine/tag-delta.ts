// Differences of tags. A spec without tags says nothing about them; one with tags is the whole list, but for those of
// the system: of AWS itself, of these controllers, and of the settings.
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { TagChange } from './resource-manager.ts'

const systemPrefixes = ['aws:', 'services.k8s.aws/']

/** Returns the tags of a spec without those of the system; undefined when it has no list of tags. */
export function tagsOf(list: JsonValue | undefined): Readonly<Record<string, string>> | undefined {
  if (!isJsonArray(list)) return undefined
  return Object.fromEntries(
    list
      .filter((tag): tag is JsonObject => isJsonObject(tag) && typeof tag['key'] === 'string')
      .map(({ key, value }): [string, string] => [String(key), typeof value === 'string' ? value : ''])
      .filter(([key]) => !isSystem(key)),
  )
}

/** Returns what to change; undefined when nothing differs. `added` are the tags that every resource gets. */
export function tagChange(
  wanted: Readonly<Record<string, string>>,
  actual: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>>,
): TagChange | undefined {
  const set = Object.entries(wanted).filter(([key, value]) => actual[key] !== value)
  const remove = Object.keys(actual).filter(
    (key) => !isSystem(key) && !Object.hasOwn(wanted, key) && !Object.hasOwn(added, key),
  )
  return set.length === 0 && remove.length === 0 ? undefined : { set: Object.fromEntries(set), remove }
}

/** Returns a spec without tags of the system, which say whose a resource is. */
export function withoutSystemTags(spec: JsonObject): JsonObject {
  const { tags } = spec
  if (!isJsonArray(tags)) return spec
  return { ...spec, tags: tags.filter((tag) => !(isJsonObject(tag) && isSystem(String(tag['key'])))) }
}

function isSystem(key: string): boolean {
  return systemPrefixes.some((prefix) => key.startsWith(prefix))
}
