// DELETE of a collection: every selected object is deleted as if on its own; the answer is the list as it was.
import { isNotFound } from '@fairlead/kube'
import type { ListOptions } from '../request/list-options.ts'
import type { Selection } from '../request/selection.ts'
import type { DeleteOptions } from '../request/write-options.ts'
import { deleteObject } from './delete.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import { listObjects } from './list.ts'
import type { ObjectList } from './list.ts'

/** Deletions that are under way at once; they share commits. */
const batchSize = 500

/**
 * Deletes what a list shows.
 * @throws StatusError of the first object that could not be deleted
 */
export async function deleteCollection(
  environment: Environment,
  call: ResourceCall,
  options: ListOptions,
  selection: Selection,
  deletion: DeleteOptions,
): Promise<ObjectList> {
  const list = await listObjects(environment, call, options, selection)
  for (let start = 0; start < list.views.length; start += batchSize) {
    const batch = list.views.slice(start, start + batchSize)
    await Promise.all(
      batch.map(async ({ object: { metadata } }) => {
        try {
          await deleteObject(
            environment,
            { ...call, name: metadata.name ?? '', namespace: metadata.namespace ?? '', isCollection: true },
            deletion,
          )
        } catch (error) {
          if (!isNotFound(error)) throw error
        }
      }),
    )
  }
  return list
}
