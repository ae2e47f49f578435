// `fairlead actions history`: runs of command actions.
import type { CommandContext } from '@fairlead/controller'
import { stringifyJson } from '@fairlead/kube'
import { actionsClient } from './actions-client.ts'
import { parseResource, reported, table } from './resource-argument.ts'

/** Prints runs, newest first: of all resources, or of one. */
export function run(context: CommandContext): Promise<number> {
  return reported(context, () => answer(context))
}

async function answer(context: CommandContext): Promise<number> {
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
