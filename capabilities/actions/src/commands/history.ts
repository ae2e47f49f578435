// `fairlead actions history`: runs of command actions.
import type { Command, CommandContext } from '@fairlead/controller'
import { stringifyJson } from '@fairlead/kube'
import { actionsClient } from './actions-client.ts'
import { clusterOptions, parseResource, reported, table } from './resource-argument.ts'

/** Prints runs, newest first: of all resources, or of one. */
export const historyCommand: Command = {
  name: 'history',
  summary: 'List runs of command actions, newest first',
  examples: ['fairlead actions history', 'fairlead actions history Deployment/trader -n stocktrader'],
  arguments: [{ name: 'resource', description: 'KIND/NAME', optional: true }],
  options: [
    ...clusterOptions,
    { flags: '--action <name>', description: 'only runs of this action' },
    { flags: '--user <name>', description: 'only runs of this user' },
    { flags: '-o, --output <format>', description: 'table or json', default: 'table' },
  ],
  run: (context) => reported(context, () => run(context)),
}

async function run(context: CommandContext): Promise<number> {
  const { namespace, action, user, output } = context.options as {
    namespace?: string
    action?: string
    user?: string
    output?: string
  }
  const client = await context.client()
  const given = context.arguments[0]
  const ref = given === undefined ? undefined : parseResource(String(given), namespace)
  if (given !== undefined && ref === undefined) {
    context.err(`"${String(given)}" is no resource; write KIND/NAME, for example Deployment/trader`)
    return 2
  }
  await using actions = await actionsClient(client)
  const runs = (await actions.history({ namespace, name: ref?.name, action, user })).filter(
    ({ target }) => ref === undefined || target.kind.toLowerCase() === ref.kind.toLowerCase(),
  )
  if (output === 'json') context.out(stringifyJson({ runs }))
  else if (runs.length === 0) context.err('There are no runs')
  else
    context.out(
      table([
        ['STATE', 'ACTION', 'TARGET', 'USER', 'CREATED', 'JOB'],
        ...runs.map(({ state, action: name, target, user: by, created, namespace: where, job }) => [
          state,
          name,
          `${target.kind} ${target.namespace}/${target.name}`,
          by,
          created,
          `${where}/${job}`,
        ]),
      ]),
    )
  return 0
}
