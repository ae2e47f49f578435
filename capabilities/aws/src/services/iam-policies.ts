// Parts that IAM's kinds have in common: documents, tags, pages, and how it says that something is missing.
import { AwsError } from '../engine/aws-error.ts'
import type { TagChange } from '../engine/resource-manager.ts'
import type { ApiObject, ServiceApi } from './service-api.ts'

/** Returns the output of a call; undefined when IAM has no such entity. */
export async function found(call: Promise<ApiObject>): Promise<ApiObject | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof AwsError && error.code.startsWith('NoSuchEntity')) return undefined
    throw error
  }
}

/** Returns a policy document as it was given: IAM returns it URL-encoded. */
export function decodedDocument(document: unknown): string {
  return typeof document === 'string' ? decodeURIComponent(document) : ''
}

/** Returns the tags of an entity as a map. */
export function tagsFrom(list: unknown): Readonly<Record<string, string>> {
  const tags = (list ?? []) as readonly { readonly Key: string; readonly Value: string }[]
  return Object.fromEntries(tags.map(({ Key, Value }) => [Key, Value]))
}

/** Returns the tags that an entity is created with: those of the spec win. */
export function tagList(own: unknown, added: Readonly<Record<string, string>>): readonly ApiObject[] {
  const given = (own ?? []) as readonly ApiObject[]
  const keys = new Set(given.map(({ Key }) => Key))
  return [
    ...given,
    ...Object.entries(added)
      .filter(([key]) => !keys.has(key))
      .map(([Key, Value]) => ({ Key, Value })),
  ]
}

/** Returns the items of all pages of a list. */
export async function listAll<T>(
  api: ServiceApi,
  operation: string,
  input: ApiObject,
  field: string,
): Promise<readonly T[]> {
  const items: T[] = []
  let marker: string | undefined
  do {
    const page = await api.call(operation, { ...input, ...(marker === undefined ? {} : { Marker: marker }) })
    items.push(...((page[field] ?? []) as unknown as readonly T[]))
    marker = page['IsTruncated'] === true ? (page['Marker'] as string | undefined) : undefined
  } while (marker !== undefined)
  return items
}

/** Changes the tags of an entity: `Role` or `Policy`, by its key. */
export async function changeTags(api: ServiceApi, entity: string, key: ApiObject, change: TagChange): Promise<void> {
  const set = Object.entries(change.set).map(([Key, Value]) => ({ Key, Value }))
  // Removed first: an entity has at most 50 tags.
  if (change.remove.length > 0) await api.call(`Untag${entity}`, { ...key, TagKeys: change.remove })
  if (set.length > 0) await api.call(`Tag${entity}`, { ...key, Tags: set })
}
