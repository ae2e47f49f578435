// Cases of renders: the calls of functions, and the files afterwards.
import type { FunctionReference, FunctionRunner } from '@fairlead/packages'
import { renderPackage } from '@fairlead/packages'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { parseYaml, stringifyYaml } from '@fairlead/kube'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { sameSet, sameValue } from '../comparison.ts'

/** The behaviour of a test function. */
interface TestFunction {
  readonly does: 'record' | 'add' | 'remove' | 'replace'
  readonly object?: JsonObject
  readonly kind?: string
  readonly name?: string
  readonly path?: string
  readonly text?: string
}

interface Resource extends JsonObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> }
}

/** Renders a package with the functions of the case. */
export async function playRender(input: Case['input'], want: Case['want']): Promise<Disagreement[]> {
  const calls: JsonObject[] = []
  const functions = input.functions as unknown as Readonly<Record<string, TestFunction>>
  const packages: string[] = []
  const runner: FunctionRunner = {
    run: ({ image = '' }: FunctionReference, list: string) => {
      const name = image.replace(/^.*\//, '').replace(/:.*$/, '')
      const { items } = parseYaml(list) as unknown as { readonly items: readonly Resource[] }
      const paths = items.map(({ metadata }) => metadata.annotations['internal.config.kubernetes.io/path']!)
      calls.push({ function: name, package: packages.at(-1) || '.', paths })
      const output = {
        apiVersion: 'config.kubernetes.io/v1',
        kind: 'ResourceList',
        items: run(functions[name]!, items),
      }
      return Promise.resolve({ resourceList: stringifyYaml(output), stderr: '', exitCode: 0 })
    },
  }
  const files = new Map(Object.entries(input.files as Record<string, string>))
  const outcome = await renderPackage(files, runner, {
    signal: new AbortController().signal,
    onEvent: ({ path }) => packages.push(path),
  })
  const wantedFiles = Object.entries((want.files ?? {}) as Record<string, string>)
  return [
    ...(want.calls === undefined ? [] : sameValue('calls', want.calls, calls)),
    ...(want.paths === undefined ? [] : sameSet('paths', want.paths as string[], [...outcome.files.keys()])),
    ...wantedFiles.flatMap(([path, content]) => sameValue(`files.${path}`, content, outcome.files.get(path) as string)),
  ]
}

function run({ does, object, kind, name, path, text }: TestFunction, items: readonly Resource[]): JsonValue[] {
  if (does === 'add') return [...items, object!]
  if (does === 'remove') return items.filter((item) => item.kind !== kind || item.metadata.name !== name)
  if (does !== 'replace') return [...items]
  return items.map((item) =>
    item.metadata.annotations['internal.config.kubernetes.io/path'] === path ? parseYaml(text!) : item,
  )
}
