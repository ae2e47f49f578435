// The object that a command is about, as its arguments name it.
import { isObjectNotFound, kind as kindOf, kindNamed } from '@fairlead/client'
import type { Client, ServedKind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { CommandError, usageError } from '@fairlead/offline/command-error'

/** A kind and a name, as written. */
export interface ObjectArgument {
  readonly type: string
  readonly name: string
}

/** Parses `KIND/NAME`, or `KIND` and `NAME`. Throws CommandError (usage) for anything else. */
export function parseObject(first: string, second: string | undefined): ObjectArgument {
  const parts = second === undefined ? first.split('/') : [first, second]
  const [type = '', name = ''] = parts
  if (parts.length !== 2 || type === '' || name === '' || `${type}${name}`.includes('/'))
    throw usageError(
      `"${second === undefined ? first : `${first} ${second}`}" is not an object; write KIND/NAME, for example deployment/web`,
    )
  return { type, name }
}

/** Reads the object. Throws CommandError when its kind is not served or it does not exist. */
export async function readTarget(
  client: Client,
  { type, name }: ObjectArgument,
  {
    served,
    namespace,
    signal,
  }: {
    readonly served: readonly ServedKind[]
    readonly namespace: string
    readonly signal: AbortSignal
  },
): Promise<KubeObject> {
  const kind = kindNamed(served, type)
  if (kind === undefined)
    throw new CommandError(`The server serves no kind "${type}"; \`kubectl api-resources\` lists those that it serves`)
  const { apiVersion, plural, namespaced } = kind
  const key = { namespace: namespaced ? namespace : '', name }
  try {
    return await client.get(kindOf(apiVersion, kind.kind, { plural, namespaced }), key, { signal })
  } catch (error) {
    if (!isObjectNotFound(error)) throw error
    throw new CommandError(`There is no ${kind.kind} ${name}${namespaced ? ` in namespace ${namespace}` : ''}`)
  }
}
