// The plan of a variant with the rights of a caller: the pass of the controller, on what the server holds now.
import { toKey, toKind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Reader } from '@fairlead/controller'
import { PackageRevisionKind } from '@fairlead/packages'
import { PackageVariantKind } from '../api.ts'
import type { PackageVariant } from '../api.ts'
import { observedRevision } from '../engine/observed-revision.ts'
import { variantConditions } from '../engine/variant/conditions.ts'
import type { VariantState } from '../engine/variant/conditions.ts'
import { specErrors, withDefaults } from '../engine/variant/spec-errors.ts'
import { selectUpstream } from '../engine/variant/upstream.ts'
import { InjectionReader } from './injection-reader.ts'
import { PackageClient } from './package-client.ts'
import { PlannedPackages } from './planned-packages.ts'
import type { PlannedDraft } from './planned-packages.ts'
import type { RevisionAction } from '../engine/variant/downstream.ts'
import { VariantPass } from './variant-pass.ts'
import type { PassReport } from './variant-pass.ts'

/** The drafts and actions that a variant would make. */
export interface VariantPlan {
  readonly drafts: readonly PlannedDraft[]
  readonly actions: readonly RevisionAction[]
  readonly conflicts: PassReport['conflicts']
  readonly conditions: ReturnType<typeof variantConditions>
}

/** Plans a variant, which need not exist in the cluster. @throws StatusError */
export async function planVariant(client: Client, given: PackageVariant): Promise<VariantPlan> {
  const { name, namespace } = given.metadata
  const existing = await client.find(PackageVariantKind, { namespace: namespace!, name: name! })
  const spec = withDefaults(given.spec)
  const errors = specErrors(spec)
  if (errors.length > 0) return planned({ specErrors: errors })
  const uid = existing?.metadata.uid ?? ''
  const object: PackageVariant = { ...given, metadata: { ...given.metadata, uid }, spec }
  const { items: revisions } = await client.list(PackageRevisionKind, { namespace: namespace! })
  const observed = revisions.map((revision) => observedRevision(revision))
  const selection = selectUpstream(spec.upstream, observed)
  if (selection.revision === undefined) return planned({ upstream: { problem: selection.problem } })
  const packages = new PlannedPackages(new PackageClient(client, object), object)
  const injection = new InjectionReader({ read: liveReader(client), client }, namespace!, spec)
  const events = { normal: (): void => undefined }
  const { revision: upstream, warnings } = selection
  const input = { spec, upstream, revisions, former: undefined }
  const report = await new VariantPass({ object, packages, injection, events }, input).run()
  return {
    ...planned({ ...report.state, upstream: { name: upstream.name, warnings } }),
    drafts: packages.drafts,
    actions: packages.actions,
    conflicts: report.conflicts,
  }
}

function planned(state: VariantState): VariantPlan {
  return { drafts: [], actions: [], conflicts: [], conditions: variantConditions(state) }
}

/** Returns a reader that asks the server each time. */
function liveReader(client: Client): Reader {
  return {
    get: (kind, key) => client.find(toKind(kind), toKey(key)),
    list: async (kind, filter = {}) => (await client.list(toKind(kind), filter as object)).items,
    state: async () => await Promise.resolve('Synced'),
  }
}
