// `fairlead actions list`: the menu of a resource.
import type { CommandContext } from '@fairlead/controller'
import { stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { MenuItem } from '../engine/menu.ts'
import { actionsClient } from './actions-client.ts'
import { located, parseResource, reported, table } from './resource-argument.ts'

/** Prints one line per action; those that do not fit the resource only with --all. */
export function run(context: CommandContext): Promise<number> {
  return reported(context, () => answer(context))
}

async function answer(context: CommandContext): Promise<number> {
  const { namespace, all, output } = context.options as { namespace?: string; all?: boolean; output?: string }
  if (output !== undefined && !['table', 'json', 'yaml'].includes(output)) {
    context.err(`There is no output format ${output}; there are table, json and yaml`)
    return 2
  }
  const client = await context.client()
  const ref = parseResource(String(context.arguments[0]), namespace ?? client.namespace)
  if (ref === undefined) {
    context.err(`"${String(context.arguments[0])}" is no resource; write TYPE/NAME, for example deployment/trader`)
    return 2
  }
  await using actions = await actionsClient(client)
  const menu = await actions.menu(await located(context, client, ref))
  if (output === 'json' || output === 'yaml') {
    context.out(output === 'json' ? stringifyJson(menu) : stringifyYaml(menu))
    return 0
  }
  const shown = menu.actions.filter(({ isEnabled, isAllowed }) => all === true || (isEnabled && isAllowed))
  if (shown.length === 0)
    context.err(
      `${menu.resource.kind} ${menu.resource.namespace}/${menu.resource.name} has no actions here; "fairlead actions why" tells which maps were looked for`,
    )
  else
    context.out(
      table([
        ['TYPE', 'NAME', 'TEXT', 'MAP', ...(all === true ? ['NOTE'] : [])],
        ...shown.map((item) => rowOf(item, all === true)),
      ]),
    )
  return 0
}

function rowOf(item: MenuItem, withNote: boolean): readonly string[] {
  const note = [item.isEnabled ? [] : [item.reason ?? 'not offered'], item.isAllowed ? [] : ['you may not run it']]
    .flat()
    .join('; ')
  return [item.type, item.name, item.text, item.map, ...(withNote ? [note] : [])]
}
