// Writes what a response wants of its parent: status, labels, annotations, and the end of its finalizer.
import type { Client } from '@fairlead/client'
import { isObjectNotFound } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { asJson, isConflict, jsonEqual } from '@fairlead/kube'
import type { OutputWrite } from '../runtime/writer.ts'
import type { ParentChange, ParentKind } from './flavour.ts'

/** The parent to write. */
export interface ParentWrite {
  readonly client: Client
  readonly kind: ParentKind
  readonly parent: KubeObject
  readonly change: ParentChange
  /** Finalizer to remove. */
  readonly finished?: string
  readonly onWrite: (write: OutputWrite) => void
}

/**
 * Writes a parent where it differs. A parent that was deleted or changed meanwhile is left: its event syncs it again.
 * Where changes of status are ignored, the conflict is thrown instead: its event may sync nothing.
 */
export async function writeParent(write: ParentWrite): Promise<void> {
  try {
    await writeDifferences(write)
  } catch (error) {
    const isReported = isConflict(error) && !write.kind.ignoreStatusChanges
    if (!isObjectNotFound(error) && !isReported) throw error
  }
}

async function writeDifferences({ client, kind, parent, change, finished, onWrite }: ParentWrite): Promise<void> {
  const { labels = {}, annotations = {}, finalizers = [] } = parent.metadata
  const wantedLabels = withChanges(labels, change.labels)
  const wantedAnnotations = withChanges(annotations, change.annotations)
  const left = finished === undefined ? finalizers : finalizers.filter((one) => one !== finished)
  const isStatusChanged = change.status !== undefined && !jsonEqual(asJson(parent)['status'] ?? null, change.status)
  const isMetadataChanged =
    wantedLabels !== labels || wantedAnnotations !== annotations || left.length !== finalizers.length
  let current = parent
  const written = (after: KubeObject): void => {
    onWrite({ op: 'update', before: current, after })
    current = after
  }
  if (isStatusChanged && kind.hasStatusSubresource)
    written(await client.update({ ...current, status: change.status }, { subresource: 'status' }))
  if (!isMetadataChanged && !(isStatusChanged && !kind.hasStatusSubresource)) return
  const metadata = {
    ...current.metadata,
    labels: wantedLabels,
    annotations: wantedAnnotations,
    finalizers: left,
  }
  const status = isStatusChanged && !kind.hasStatusSubresource ? { status: change.status } : {}
  written(await client.update({ ...current, metadata, ...status }))
}

/** Returns the values with the changes; the values themselves when nothing changes. */
function withChanges(
  values: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string>> {
  const changed = Object.entries(changes).filter(([name, value]) => (values[name] ?? null) !== value)
  if (changed.length === 0) return values
  const merged = new Map(Object.entries(values))
  for (const [name, value] of changed)
    if (value === null) merged.delete(name)
    else merged.set(name, value)
  return Object.fromEntries(merged)
}
