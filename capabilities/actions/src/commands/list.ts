// `fairlead actions list`: prints the menu of a resource.
import type { CommandContext, CompletionContext } from '@fairlead/controller/command'
import { exitCode } from '@fairlead/offline/command-error'
import { formatStructured } from '@fairlead/offline'
import type { MenuItem } from '../engine/menu.ts'
import { actionsClient } from './actions-client.ts'
import { locate, parseResource } from './resource-argument.ts'
import { formatTable } from './table.ts'

type Context = CommandContext<
  {
    readonly namespace: string | undefined
    readonly all: boolean
    readonly output: 'table' | 'json' | 'yaml'
  },
  { readonly resource: string }
>

/** Prints one line per action; with --all also those that are not offered or not allowed. */
export async function run({ arguments: { resource }, options, out, err, client: connect }: Context): Promise<number> {
  const { namespace, all, output } = options
  const client = await connect()
  const ref = parseResource(resource, namespace ?? client.namespace)
  await using actions = await actionsClient(client)
  const menu = await actions.menu(namespace === undefined ? await locate(client, ref, err) : ref)
  if (output !== 'table') {
    out(formatStructured(menu, output))
    return exitCode.ok
  }
  const shown = menu.actions.filter(({ isEnabled, isAllowed }) => all || (isEnabled && isAllowed))
  if (shown.length > 0)
    out(formatTable(['TYPE', 'NAME', 'TEXT', 'MAP', ...(all ? ['NOTE'] : [])], shown.map(all ? rowWithNote : rowOf)))
  else {
    const { kind, namespace: where, name } = menu.resource
    err(`${kind} ${where}/${name} has no actions for you; "fairlead actions why" lists the maps that were looked up`)
  }
  return exitCode.ok
}

/** Returns the names of the actions that the user may run on a resource. */
export async function actionNames({ arguments: [resource], options, client }: CompletionContext): Promise<string[]> {
  const { namespace } = options
  const ref = parseResource(resource ?? '', namespace ?? client.namespace)
  await using actions = await actionsClient(client)
  const menu = await actions.menu(namespace === undefined ? await locate(client, ref, () => {}) : ref)
  return menu.actions.filter(({ isEnabled, isAllowed }) => isEnabled && isAllowed).map(({ name }) => name)
}

function rowOf({ type, name, text, map }: MenuItem): readonly string[] {
  return [type, name, text, map]
}

function rowWithNote(item: MenuItem): readonly string[] {
  const notes = [
    ...(item.isEnabled ? [] : [item.reason ?? 'not offered']),
    ...(item.isAllowed ? [] : ['you may not run it']),
    ...(item.runAs === undefined ? [] : [`runs as ${item.runAs}`]),
  ]
  return [...rowOf(item), notes.join('; ')]
}
