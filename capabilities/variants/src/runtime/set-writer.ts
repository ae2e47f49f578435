// Carries out the plan of a set: several writes at a time, and one failure stops no other.
import { CollisionError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isConflict, isForbidden, isInvalid, isNotFound } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageVariantKind, setLabel } from '../api.ts'
import type { PackageVariant, PackageVariantSet } from '../api.ts'
import type { PlannedVariant, VariantDecision } from '../engine/set/plan.ts'
import type { TargetFailure } from '../engine/set/spec.ts'

/** Variants that are written at a time. */
const concurrentWrites = 8

/** The outcome of a plan. */
export interface Written {
  readonly failures: readonly TargetFailure[]
  /** Variants whose names are taken by objects that the set does not own. */
  readonly collisions: readonly KubeObject[]
  /** The first error that another attempt may end. */
  readonly retry: unknown
  /** The server refused a write: only a change of rights or of a schema can end that. */
  readonly isRefused: boolean
  /** The server does not have a variant that the cache has: an event says so, unless the response was wrong. */
  readonly isUnconfirmed: boolean
}

/** Options of {@link writePlan}. */
export interface WriteOptions {
  readonly client: Client
  readonly set: PackageVariantSet
  /** The variants of the set by name. */
  readonly variants: ReadonlyMap<string, PackageVariant>
  /** Called with every variant that was written. */
  readonly onWritten: (variant: PackageVariant) => void
}

/** Writes what a plan decided. Throws only when the signal of the client aborts. */
export async function writePlan(decisions: readonly VariantDecision[], options: WriteOptions): Promise<Written> {
  const failures: TargetFailure[] = []
  const collisions: KubeObject[] = []
  let retry: unknown
  let isRefused = false
  let isUnconfirmed = false
  // Sequential starts keep the order of a rollout.
  const queue = decisions.values()
  const work = async (): Promise<void> => {
    for (const decision of queue) {
      try {
        if ((await write(decision, options)) === 'unconfirmed') isUnconfirmed = true
      } catch (error) {
        if (error instanceof CollisionError) collisions.push(error.live)
        else if (isInvalid(error) || isForbidden(error)) isRefused = true
        else retry ??= error
        if ('spec' in decision.variant) failures.push(failureOf(decision.variant, error))
        else retry ??= error
      }
    }
  }
  await Promise.all(Array.from({ length: concurrentWrites }, work))
  return { failures, collisions, retry, isRefused, isUnconfirmed }
}

async function write(decision: VariantDecision, options: WriteOptions): Promise<'unconfirmed' | undefined> {
  const { client, set, variants, onWritten } = options
  const { name } = decision.variant
  const namespace = set.metadata.namespace!
  switch (decision.do) {
    case 'create':
    case 'update': {
      const object = variantOf(set, decision.variant)
      const cached = variants.get(name)
      onWritten(await client.apply(object, { owner: set, ...(cached && { cached }) }))
      return undefined
    }
    case 'delete': {
      const { uid, resourceVersion } = variants.get(name)!.metadata
      const preconditions = { uid: uid!, resourceVersion: resourceVersion! }
      try {
        const left = await client.delete(PackageVariantKind, { namespace, name }, { preconditions })
        if (left !== undefined) onWritten(left)
      } catch (error) {
        if (isNotFound(error)) return 'unconfirmed'
        // The variant has changed: its event wakes the set, which decides again.
        if (!isConflict(error)) throw error
      }
      return undefined
    }
    case 'hold':
    case 'keep':
      return undefined
    default:
      throw new Error(`unknown decision ${String(decision satisfies never)}`)
  }
}

function variantOf({ metadata }: PackageVariantSet, { name, spec }: PlannedVariant): PackageVariant {
  return {
    apiVersion: PackageVariantKind.apiVersion,
    kind: PackageVariantKind.kind,
    metadata: { name, namespace: metadata.namespace!, labels: { [setLabel]: metadata.uid! } },
    spec: spec as PackageVariant['spec'],
  }
}

function failureOf({ name, target, repo, package: path }: PlannedVariant, error: unknown): TargetFailure {
  const message = error instanceof Error ? error.message : String(error)
  const reason = error instanceof CollisionError ? 'Collision' : 'WriteFailed'
  return { target, repo, package: path, reason, message: `PackageVariant ${name}: ${message}` }
}
