// Finalizes terminating Namespaces: deletes their content, reports the remaining content in the status, and removes the
// finalizer `kubernetes` once nothing remains. Conditions and messages are those of the recordings
// (validation/namespace-lifecycle, namespace-finalize).
import { Namespace } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Result, WorkContext } from '@fairlead/controller'
import { byKey, condition, isNotFound, isTerminating, jsonEqual, setCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { resourceName } from '@fairlead/builtin-kinds'
import { controllerManager, enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'
import { kindWithVerbs } from './all-resources-informer.ts'
import type { ResourceSource } from './all-resources-informer.ts'

/** The finalizer of every namespace, in `spec.finalizers`. */
const finalizer = 'kubernetes'

/** Resync period while content remains; deleted content triggers a reconcile by itself. Milliseconds. */
const resyncPeriod = 15_000

/** The content of a namespace that remains after its deletion was requested. */
export interface RemainingContent {
  /** Objects by resource (`configmaps.`, `widgets.example.com`). */
  readonly objects: ReadonlyMap<string, number>
  /** Objects by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>
  /** Errors of the deletion, by resource. */
  readonly failures: ReadonlyMap<string, string>
}

type TerminatingNamespace = KubeObject & {
  readonly spec?: { readonly finalizers?: readonly string[] }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

/** Sets up the controller. */
export function setUpNamespaces(context: ControllerContext): void {
  const loop = context.manager.loop<string>({
    name: 'namespace-controller',
    id: (name) => name,
    concurrency: 10,
    manager: controllerManager,
    run: (name, work) => finalizeNamespace(name, context, work),
    logFields: (name) => ({ namespace: name }),
  })
  const namespaces = enqueueOn(context, loop, Namespace, ({ type, object }) =>
    type !== 'removed' && isTerminating(object) ? [object.metadata.name!] : [],
  )
  context.onStop(
    context.allResources().subscribe({
      changed: (_kind, { object }) => {
        const namespace = namespaces.lastKnown.get(object.metadata.namespace ?? '')
        if (namespace !== undefined && isTerminating(namespace))
          loop.queue.addAfter(namespace.metadata.name!, context.delay)
      },
    }),
  )
}

async function finalizeNamespace(
  name: string,
  { resources, delay }: ControllerContext,
  work: WorkContext,
): Promise<Result> {
  const { client, clock, signal } = work
  if (!mayHaveContent(await client.find<TerminatingNamespace>(Namespace, name))) return undefined
  let remaining = await emptyNamespace(name, resources, client)
  if (delay > 0) {
    // Dependents of the deleted content are deleted later too; wait until their watchers have seen it.
    await clock.sleep(2 * delay, signal)
    remaining = await emptyNamespace(name, resources, client)
  }
  const namespace = await client.find<TerminatingNamespace>(Namespace, name)
  if (!mayHaveContent(namespace)) return undefined
  const reported = await report(namespace, remaining, client, clock.now())
  if (reported === undefined) return undefined
  if (remaining.objects.size > 0 || remaining.failures.size > 0) return after(resyncPeriod)
  const finalizers = finalizersOf(reported).filter((known) => known !== finalizer)
  await client.update({ ...reported, spec: { ...reported.spec, finalizers } }, { subresource: 'finalize' })
  return undefined
}

/** Returns true while the namespace is terminating and still has the finalizer `kubernetes`. */
function mayHaveContent(namespace: TerminatingNamespace | undefined): namespace is TerminatingNamespace {
  return namespace !== undefined && isTerminating(namespace) && finalizersOf(namespace).includes(finalizer)
}

function finalizersOf({ spec }: TerminatingNamespace): readonly string[] {
  return spec?.finalizers ?? []
}

/** Deletes the content of the namespace and returns what remains. */
async function emptyNamespace(namespace: string, resources: ResourceSource, client: Client): Promise<RemainingContent> {
  const objects = new Map<string, number>()
  const finalizers = new Map<string, number>()
  const failures = new Map<string, string>()
  const deleteAll = async (definition: ResourceDefinition): Promise<void> => {
    const kind = kindWithVerbs(definition, ['list', 'delete'])
    if (kind === undefined) return
    try {
      const left = await deleteAllOfKind(
        kind,
        namespace,
        client,
        kindWithVerbs(definition, ['list', 'deletecollection']) !== undefined,
      )
      if (left.length > 0) objects.set(`${definition.plural}.${definition.group}`, left.length)
      for (const object of left) {
        for (const held of object.metadata.finalizers ?? []) finalizers.set(held, (finalizers.get(held) ?? 0) + 1)
      }
    } catch (error) {
      failures.set(`${definition.plural}.${definition.group}`, error instanceof Error ? error.message : String(error))
    }
  }
  const seen = new Set<string>()
  const pending: Promise<void>[] = []
  for (const definition of resources.definitions) {
    if (!definition.namespaced || seen.has(resourceName(definition))) continue
    seen.add(resourceName(definition))
    pending.push(deleteAll(definition))
  }
  await Promise.all(pending)
  return { objects, finalizers, failures }
}

async function deleteAllOfKind(
  kind: Kind,
  namespace: string,
  client: Client,
  byCollection: boolean,
): Promise<readonly KubeObject[]> {
  const { items } = await client.list(kind, { namespace, pageSize: 0 })
  if (items.every((item) => isTerminating(item))) return items
  if (byCollection) await client.deleteCollection(kind, { namespace, propagation: 'Background' })
  else await Promise.all(items.map(({ metadata }) => deleteOne(kind, namespace, metadata.name!, client)))
  return (await client.list(kind, { namespace, pageSize: 0 })).items
}

async function deleteOne(kind: Kind, namespace: string, name: string, client: Client): Promise<void> {
  try {
    await client.delete(kind, { namespace, name }, { propagation: 'Background' })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/**
 * Reports the remaining content in the status, if it changed. Returns undefined when the namespace no longer exists.
 */
async function report(
  namespace: TerminatingNamespace,
  remaining: RemainingContent,
  client: Client,
  now: number,
): Promise<TerminatingNamespace | undefined> {
  const before = namespace.status?.conditions
  const conditions = namespaceConditions(remaining).reduce<readonly Condition[]>(
    (list, next) => setCondition(list, next, now),
    before ?? [],
  )
  if (jsonEqual(conditions, before)) return namespace
  try {
    return await client.update({ ...namespace, status: { ...namespace.status, conditions } }, { subresource: 'status' })
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Returns the conditions of a terminating namespace, in the words of the namespace controller. */
export function namespaceConditions({ objects, finalizers, failures }: RemainingContent): readonly Condition[] {
  const failed = [...failures].toSorted(byKey).map(([resource, message]) => `${resource}: ${message}`)
  const counts = [...objects].toSorted(byKey).map(([resource, count]) => `${resource} has ${count} resource instances`)
  const held = [...finalizers].toSorted(byKey).map(([name, count]) => `${name} in ${count} resource instances`)
  return [
    condition('NamespaceDeletionDiscoveryFailure', 'False', {
      reason: 'ResourcesDiscovered',
      message: 'All resources successfully discovered',
    }),
    condition('NamespaceDeletionGroupVersionParsingFailure', 'False', {
      reason: 'ParsedGroupVersions',
      message: 'All legacy kube types successfully parsed',
    }),
    failed.length > 0
      ? condition('NamespaceDeletionContentFailure', 'True', {
          reason: 'ContentDeletionFailed',
          message: `Failed to delete all resource types, ${failed.length} remaining: ${failed.join(', ')}`,
        })
      : condition('NamespaceDeletionContentFailure', 'False', {
          reason: 'ContentDeleted',
          message: 'All content successfully deleted, may be waiting on finalization',
        }),
    counts.length > 0
      ? condition('NamespaceContentRemaining', 'True', {
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${counts.join(', ')}`,
        })
      : condition('NamespaceContentRemaining', 'False', {
          reason: 'ContentRemoved',
          message: 'All content successfully removed',
        }),
    held.length > 0
      ? condition('NamespaceFinalizersRemaining', 'True', {
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${held.join(', ')}`,
        })
      : condition('NamespaceFinalizersRemaining', 'False', {
          reason: 'ContentHasNoFinalizers',
          message: 'All content-preserving finalizers finished',
        }),
  ]
}
