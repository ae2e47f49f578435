// `fairlead rpkg propose|approve|reject|propose-delete|delete`.
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { isConflict } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { PackageRevisionKind } from '../../api.ts'
import type { PackageRevision } from '../../api.ts'
import { unmetGates } from '../../engine/lifecycle.ts'
import type { Lifecycle } from '../../engine/lifecycle.ts'
import { forEach } from '../porch-errors.ts'

type Verb = 'approve' | 'delete' | 'propose' | 'propose-delete' | 'reject'

/** Attempts to update a revision that others change too. */
const attempts = 5

/** Carries out a verb on each revision. */
export async function run(
  verb: Verb,
  context: CommandContext<{ readonly namespace: string | undefined }, { readonly revisions: readonly string[] }>,
): Promise<number> {
  const client = await context.client()
  const namespace = context.options.namespace ?? client.namespace
  return forEach(context.arguments.revisions, context, async (name) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const { text, isError } = await carryOut(verb, client, { namespace, name })
        ;(isError ? context.err : context.out)(text)
        return
      } catch (error) {
        if (!isConflict(error) || attempt === attempts) throw error
      }
    }
  })
}

async function carryOut(
  verb: Verb,
  client: Client,
  key: { readonly namespace: string; readonly name: string },
): Promise<{ readonly text: string; readonly isError?: boolean }> {
  const { name } = key
  const object = await client.get(PackageRevisionKind, key)
  const { lifecycle } = object.spec
  const set = (next: Lifecycle, subresource?: string): Promise<unknown> =>
    client.update<PackageRevision>(
      { ...object, spec: { ...object.spec, lifecycle: next } },
      subresource === undefined ? {} : { subresource },
    )
  switch (verb) {
    case 'propose':
      requireGates(object)
      if (lifecycle === 'Proposed') return { text: `${name} is already proposed`, isError: true }
      if (lifecycle !== 'Draft') throw new CommandError(`cannot propose ${lifecycle} package`)
      await set('Proposed')
      return { text: `${name} proposed` }
    case 'approve':
      requireGates(object)
      await set('Published', 'approval')
      return { text: `${name} approved` }
    case 'reject':
      if (lifecycle === 'Proposed') {
        await set('Draft', 'approval')
        return { text: `${name} no longer proposed for approval` }
      }
      if (lifecycle !== 'DeletionProposed')
        throw new CommandError(`cannot reject ${name} with lifecycle '${lifecycle}'`)
      await set('Published')
      return { text: `${name} no longer proposed for deletion` }
    case 'propose-delete':
      if (lifecycle === 'DeletionProposed') return { text: `${name} is already proposed for deletion`, isError: true }
      if (lifecycle !== 'Published')
        throw new CommandError(`can only propose published packages for deletion; package ${name} is not published`)
      await set('DeletionProposed')
      return { text: `${name} proposed for deletion` }
    case 'delete': {
      const { uid, resourceVersion } = object.metadata
      await client.delete(PackageRevisionKind, key, { preconditions: { uid, resourceVersion } })
      return { text: `${name} deleted` }
    }
    default:
      throw new Error(`unknown verb ${String(verb satisfies never)}`)
  }
}

function requireGates({ spec, status }: PackageRevision): void {
  const unmet = unmetGates(spec.readinessGates ?? [], status?.conditions ?? [])
  if (unmet.length > 0) throw new CommandError(`readiness conditions not met: ${unmet.join(', ')}`)
}
