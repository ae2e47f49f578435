// `fairlead actions why`: which maps a resource may have, which were found, merged and cut. With files it needs no
// cluster.
import type { CommandContext } from '@fairlead/controller'
import { stringifyJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { KindActionMappingObject } from '../api.ts'
import { defaultMapping } from '../defaults/default-objects.ts'
import { fixedCatalog } from '../engine/catalog.ts'
import { whyOf } from '../engine/menu.ts'
import type { Why, WhyCandidate } from '../engine/menu.ts'
import { actionsClient } from './actions-client.ts'
import { DocumentError, readDocuments } from './documents.ts'
import { located, parseResource, reported } from './resource-argument.ts'

/** Prints a line for each candidate, most specific first, and the actions that came of them. */
export function run(context: CommandContext): Promise<number> {
  return reported(context, () => answer(context))
}

async function answer(context: CommandContext): Promise<number> {
  const {
    namespace,
    filename = [],
    output,
  } = context.options as { namespace?: string; filename?: readonly string[]; output?: string }
  const given = context.arguments[0]
  if ((given === undefined) === (filename.length === 0)) {
    context.err('Name one resource: TYPE/NAME of a cluster, or a file with -f')
    return 2
  }
  if (given === undefined) return offline(context, filename)
  const client = await context.client()
  const ref = parseResource(String(given), namespace ?? client.namespace)
  if (ref === undefined) {
    context.err(`"${String(given)}" is no resource; write TYPE/NAME, for example deployment/trader`)
    return 2
  }
  await using actions = await actionsClient(client)
  print(context, await actions.why(await located(context, client, ref)), output === 'json', true)
  return 0
}

async function offline(context: CommandContext, files: readonly string[]): Promise<number> {
  const {
    kam = [],
    maps = [],
    output,
  } = context.options as { kam?: readonly string[]; maps?: readonly string[]; output?: string }
  try {
    const objects = (await readDocuments([...files, ...kam, ...maps], context.stdin)).map(({ object }) => object)
    const resources = (
      await readDocuments(
        files.filter((file) => file !== '-'),
        context.stdin,
      )
    ).map(({ object }) => object)
    const isOther = ({ kind }: KubeObject): boolean => kind === 'KindActionMapping' || kind === 'ConfigMap'
    const [resource, ...more] = (files.includes('-') ? objects : resources).filter((object) => !isOther(object))
    if (resource === undefined || more.length > 0) {
      context.err(
        resource === undefined
          ? `There is no resource in ${files.join(', ')}`
          : `There is more than one resource in ${files.join(', ')}: ${more.map(({ kind, metadata }) => `${kind} ${metadata.name ?? ''}`).join(', ')}`,
      )
      return 1
    }
    const mappings = objects.filter(({ kind }) => kind === 'KindActionMapping') as KindActionMappingObject[]
    const configMaps = objects.filter(({ kind }) => kind === 'ConfigMap')
    const source = fixedCatalog(
      mappings.length > 0 ? mappings : [defaultMapping as KindActionMappingObject],
      configMaps,
    )
    print(
      context,
      whyOf(source.catalog().resolve(resource), resource, () => true),
      output === 'json',
      configMaps.length > 0,
    )
    return 0
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    context.err(error.message)
    return 1
  }
}

function print(context: CommandContext, why: Why, asJson: boolean, withMaps: boolean): void {
  if (asJson) {
    context.out(stringifyJson(why))
    return
  }
  for (const candidate of why.candidates) context.out(candidateLine(candidate, withMaps))
  if (withMaps && why.actions.length > 0) {
    context.out('')
    for (const { type, name, map, overrides, isEnabled, reason } of why.actions) {
      const instead = overrides.length === 0 ? '' : `, instead of ${overrides.join(', ')}`
      context.out(`${type} ${name}: from ${map}${instead}${isEnabled ? '' : ` (not offered: ${reason ?? ''})`}`)
    }
  }
  for (const { object, field, message } of why.problems) context.err(`${object}: ${field}: ${message}`)
}

const states: Readonly<Record<WhyCandidate['state'], string>> = {
  used: 'merged',
  cut: 'cut by a map with policy replace',
  missing: 'not found',
}

/** The seed's own form, with what became of it where maps were looked for. */
function candidateLine(
  { name, namespace, level, precedence, mapping, rule, state, policy }: WhyCandidate,
  withMaps: boolean,
): string {
  const found = withMaps
    ? `: ${states[state]}${state === 'used' && policy === 'replace' ? ', replaces what follows' : ''}`
    : ''
  return `${name} (${level} specific, precedence ${precedence}) in ${namespace}, by ${mapping} ${rule}${found}`
}
