// Cases of renders: the calls of functions, and the files afterwards.
import type { FunctionReference, FunctionRunner } from '@fairlead/packages'
import { renderPackage } from '@fairlead/packages'
import type { JsonObject } from '@fairlead/kube'
import { stringifyYaml, yamlDialect, yamlLibrary } from '@fairlead/kube'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { sameSet, sameValue } from '../comparison.ts'

/** The library of @fairlead/kube. */
type Yaml = ReturnType<typeof yamlLibrary>
type Document = ReturnType<Yaml['parseDocument']>
type YAMLMap = InstanceType<Yaml['YAMLMap']>
type YAMLSeq = Omit<InstanceType<Yaml['YAMLSeq']>, 'items'> & { items: YAMLMap[] }

/** The behaviour of a test function. */
interface TestFunction {
  readonly does: 'record' | 'add' | 'remove' | 'replace'
  readonly object?: JsonObject
  readonly kind?: string
  readonly name?: string
  readonly path?: string
  readonly text?: string
}

const annotations = ['metadata', 'annotations'] as const
const pathKey = 'internal.config.kubernetes.io/path'
const indexKey = 'internal.config.kubernetes.io/index'

/** Renders a package with the functions of the case. */
export async function playRender(input: Case['input'], want: Case['want']): Promise<Disagreement[]> {
  const calls: JsonObject[] = []
  const functions = (input.functions ?? {}) as unknown as Readonly<Record<string, TestFunction>>
  const packages: string[] = []
  const runner: FunctionRunner = {
    run: ({ image = '' }: FunctionReference, list: string) => {
      const name = namesOf(image).find((one) => Object.hasOwn(functions, one))
      if (name === undefined) throw new Error(`the case has no function ${image}`)
      const document = yamlLibrary().parseDocument(list, yamlDialect)
      const items = (document.get('items') as YAMLSeq | undefined)?.items ?? []
      const paths = items.map((item) => pathOf(item) ?? null)
      calls.push({ function: name, package: packages.at(-1) || '.', paths })
      return Promise.resolve({ resourceList: output(functions[name]!, list, document), stderr: '', exitCode: 0 })
    },
  }
  const files = new Map(Object.entries(input.files as Record<string, string>))
  const outcome = await renderPackage(files, runner, {
    signal: new AbortController().signal,
    onEvent: ({ path }) => packages.push(path),
  })
  const wantedFiles = Object.entries((want.files ?? {}) as Record<string, string>)
  return [
    ...(want.calls === undefined ? [] : sameCalls(want.calls as readonly JsonObject[], calls)),
    ...(want.paths === undefined ? [] : sameSet('paths', want.paths as string[], [...outcome.files.keys()])),
    ...wantedFiles.flatMap(([path, content]) => sameValue(`files.${path}`, content, outcome.files.get(path) as string)),
  ]
}

/** Compares calls; their paths where they are wanted. */
function sameCalls(wanted: readonly JsonObject[], calls: readonly JsonObject[]): Disagreement[] {
  const shown = calls.map(({ paths, ...call }, index) =>
    wanted[index] !== undefined && !Object.hasOwn(wanted[index], 'paths') ? call : { ...call, paths },
  )
  return sameValue('calls', wanted, shown)
}

/** Returns the names under which a case may list the function of an image: with and without registry and tag. */
function namesOf(image: string): string[] {
  const short = image.replace(/^.*\//, '')
  return [image, short, image.replace(/:[^/:]*$/, ''), short.replace(/:.*$/, '')]
}

function pathOf(item: YAMLMap): string | undefined {
  return item.getIn([...annotations, pathKey]) as string | undefined
}

/** Returns the output of a function. What it does not change stays as it is written. */
function output({ does, object, kind, name, path, text }: TestFunction, list: string, document: Document): string {
  if (does === 'record') return list
  const sequence = document.get('items') as YAMLSeq
  const { items } = sequence
  if (does === 'add') items.push(mapOf(stringifyYaml(object!)))
  else if (does === 'remove')
    sequence.items = items.filter((item) => item.get('kind') !== kind || item.getIn(['metadata', 'name']) !== name)
  else if (does === 'replace') {
    const replaced = items.filter((item) => pathOf(item) === path)
    const at = items.indexOf(replaced[0]!)
    if (at !== -1) {
      const rest = items.filter((item) => !replaced.includes(item))
      sequence.items = rest.toSpliced(at, 0, ...replacements(text!, replaced))
    }
  } else throw new Error(`a function cannot ${String(does satisfies never)}`)
  return document.toString({ lineWidth: 0 })
}

function mapOf(text: string): YAMLMap {
  return yamlLibrary().parseDocument(text, yamlDialect).contents as unknown as YAMLMap
}

/** Returns the resources of a string, in the place of others. */
function replacements(text: string, replaced: readonly YAMLMap[]): YAMLMap[] {
  return yamlLibrary()
    .parseAllDocuments(text, yamlDialect)
    .map((document, index) => {
      const [item, old] = [document.contents as unknown as YAMLMap, replaced[index]]
      const before = (old?.getIn(annotations) as YAMLMap | undefined)?.toJSON() as Record<string, string> | undefined
      const place = before ?? { [pathKey]: pathOf(replaced[0]!)!, [indexKey]: String(index) }
      if (item.getIn(annotations) === undefined) item.setIn(annotations, new (yamlLibrary().YAMLMap)())
      for (const [key, value] of Object.entries(place))
        if (/^(?:internal\.)?config\.(?:kubernetes|k8s)\.io\/(?:path|index|id|package-path|seqindent)$/.test(key))
          item.setIn([...annotations, key], value)
      return item
    })
}
