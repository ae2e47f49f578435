// DELETE of a collection: every selected object is deleted as if on its own. The response is the list before the
// deletion.
import { isNotFound } from '@fairlead/kube'
import type { ListOptions } from '../request/list-options.ts'
import type { Selection } from '../request/selection.ts'
import type { DeleteOptions } from '../request/write-options.ts'
import { deleteObject } from './delete.ts'
import { listObjects } from './list.ts'
import type { ObjectList } from './list.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/** Concurrent deletions; they share commits. */
const batchSize = 500

/**
 * Deletes the objects of a list.
 * @throws StatusError of the first object that could not be deleted
 */
export async function deleteCollection(
  server: ServerDependencies,
  scope: RequestScope,
  options: ListOptions,
  selection: Selection,
  deletion: DeleteOptions,
): Promise<ObjectList> {
  const list = await listObjects(server, scope, options, selection)
  for (let start = 0; start < list.views.length; start += batchSize) {
    scope.signal.throwIfAborted()
    const batch = list.views.slice(start, start + batchSize)
    await Promise.all(
      batch.map(async ({ object: { metadata } }) => {
        try {
          await deleteObject(
            server,
            { ...scope, name: metadata.name ?? '', namespace: metadata.namespace ?? '', isCollection: true },
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
