// `${func.kubectlGet(…)}`: the output of `kubectl get`, read from the API with the caller's rights; no process is
// started.
import { asJson, parseJsonPath, stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Cluster, ResourceKind } from './cluster.ts'
import { PatternError } from './patterns/pattern.ts'

interface Request {
  readonly type: string
  readonly name: string | undefined
  readonly namespace: string | undefined
  readonly allNamespaces: boolean
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  readonly output: string
}

/** Options with a value, by each spelling. */
const options: Readonly<Record<string, 'namespace' | 'labelSelector' | 'fieldSelector' | 'output'>> = {
  '-n': 'namespace',
  '--namespace': 'namespace',
  '-l': 'labelSelector',
  '--selector': 'labelSelector',
  '--field-selector': 'fieldSelector',
  '-o': 'output',
  '--output': 'output',
}

/** Characters of output: no pattern may be longer. */
const maxLength = 1_048_576

const flags: readonly string[] = ['-A', '--all-namespaces']

/**
 * Returns the output; `namespace` is the default namespace. Rejects with PatternError, or with the StatusError of the
 * API server.
 */
export async function kubectlGet(args: readonly string[], namespace: string, cluster: Cluster): Promise<string> {
  const request = parseArguments(args)
  const kind = await cluster.kindOf(request.type)
  if (kind === undefined) throw failed(`the server has no resource type "${request.type}"`)
  if (kind.group === '' && kind.kind === 'Secret')
    throw failed('Secrets are never substituted; let the command read the Secret with its own service account')
  const where = kind.namespaced ? (request.namespace ?? namespace) : ''
  if (request.name !== undefined) {
    if (request.allNamespaces) throw failed('a resource cannot be retrieved by name across all namespaces')
    const found = await cluster.find(kind, { namespace: where, name: request.name })
    if (found === undefined) throw failed(`${kind.plural} "${request.name}" not found`)
    return print(request.output, kind, [found], asJson(found))
  }
  const { labelSelector, fieldSelector } = request
  const items = await cluster.list(kind, {
    namespace: kind.namespaced && !request.allNamespaces ? where : undefined,
    labelSelector,
    fieldSelector,
  })
  return print(request.output, kind, items, {
    apiVersion: 'v1',
    items: items.map(asJson),
    kind: 'List',
    metadata: { resourceVersion: '' },
  })
}

/** Checks arguments as far as they can be without a cluster. Throws PatternError. */
export function checkKubectlGet(args: readonly string[]): void {
  const { output } = parseArguments(args)
  if (!/^(?:json|yaml|name|jsonpath=[\s\S]+)$/.test(output)) throw unsupportedOutput(output)
}

function unsupportedOutput(output: string): PatternError {
  return failed(`-o ${output} is not supported; the formats are json, yaml, name and jsonpath=…`)
}

function parseArguments(args: readonly string[]): Request {
  const given: Partial<Record<'namespace' | 'labelSelector' | 'fieldSelector' | 'output', string>> = {}
  const words: string[] = []
  let allNamespaces = false
  for (let index = 0; index < args.length; index++) {
    const argument = args[index]!
    if (!argument.startsWith('-')) {
      words.push(argument)
      continue
    }
    if (flags.includes(argument)) {
      allNamespaces = true
      continue
    }
    const { option, attached } = splitOption(argument)
    const key = Object.hasOwn(options, option) ? options[option] : undefined
    if (key === undefined)
      throw failed(`"${argument}" is not supported; the options are -n, -A, -l, --field-selector and -o`)
    const value = attached ?? args[++index]
    if (value === undefined) throw failed(`"${argument}" needs a value`)
    given[key] = value
  }
  const [type, name, ...more] = words.flatMap((word, index) =>
    index === 0 && word.includes('/') ? word.split('/') : [word],
  )
  if (type === undefined || type === '') throw failed('TYPE is required, as in kubectl get')
  if (more.length > 0) throw failed(`unexpected arguments "${more.join('", "')}" after the name`)
  if (type.includes(',')) throw failed(`several types are not supported: "${type}"`)
  if (given.output === undefined) throw failed('-o json, yaml, name or jsonpath=… is required')
  return {
    type,
    name,
    allNamespaces,
    namespace: given.namespace,
    labelSelector: given.labelSelector,
    fieldSelector: given.fieldSelector,
    output: given.output,
  }
}

/** Splits `--name=value`, `-nvalue`, `-n=value`; the value is undefined when the option is alone. */
function splitOption(argument: string): { readonly option: string; readonly attached: string | undefined } {
  const equals = argument.indexOf('=')
  if (argument.startsWith('--')) {
    return equals < 0
      ? { option: argument, attached: undefined }
      : { option: argument.slice(0, equals), attached: argument.slice(equals + 1) }
  }
  const rest = argument.slice(2)
  return { option: argument.slice(0, 2), attached: rest === '' ? undefined : rest.replace(/^=/, '') }
}

function print(output: string, kind: ResourceKind, items: readonly KubeObject[], whole: JsonObject): string {
  if (output === 'json') return stringifyJson(whole)
  if (output === 'yaml') return stringifyYaml(whole)
  if (output === 'name')
    return items
      .map(
        ({ metadata }) =>
          `${kind.kind.toLowerCase()}${kind.group === '' ? '' : `.${kind.group}`}/${metadata.name ?? ''}\n`,
      )
      .join('')
  const path = /^jsonpath=([\s\S]+)$/.exec(output)?.[1]
  if (path === undefined) throw unsupportedOutput(output)
  try {
    return parseJsonPath(path.replace(/^'([\s\S]*)'$/, '$1'), { maxLength }).execute(whole)
  } catch (error) {
    throw new PatternError('FunctionFailed', `func.kubectlGet: -o ${output}: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function failed(why: string): PatternError {
  return new PatternError('FunctionFailed', `func.kubectlGet: ${why}`)
}
