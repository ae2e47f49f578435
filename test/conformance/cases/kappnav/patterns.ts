// Cases of the area pattern: one request, its patterns resolved one after another.
import { FileCluster, PatternError, PatternResolver, functionsFor, mergeMaps, parseActionMap } from '@fairlead/actions'
import type { ActionMap } from '@fairlead/actions'
import { StatusError, isJsonObject } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { sameValue } from '../comparison.ts'
import { configMap, configMapsOf, resourceOf, sandbox } from './shorthand.ts'

/** kAppNav's namespace in these cases. */
const namespace = 'kappnav'

interface PatternOf {
  readonly pattern: string
  readonly definedIn?: string
}

/** Plays a case. */
export async function playPatterns(input: Case['input'], want: Case['want']): Promise<readonly Disagreement[]> {
  const resource = resourceOf(input)
  const globals = configMapsOf(input)
  const maps = ((input.maps ?? []) as readonly JsonObject[]).map(mapOf)
  const values = Object.fromEntries(
    Object.entries((input.values ?? {}) as JsonObject).map(([name, value]) => [name, String(value)]),
  )
  const objects = [resource, ...((input.objects ?? []) as readonly KubeObject[])]
  const resolver = new PatternResolver({
    resource: resource as unknown as JsonObject,
    merged: mergeMaps(maps.map((map) => ({ candidate: undefined, map }))),
    globalMap: async (name) => {
      const found = globals.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
      return found && isJsonObject(found.data) ? found.data : undefined
    },
    inputs: values,
    runSnippet: sandbox.run,
    callFunction: functionsFor(resource, new FileCluster(objects)),
  })
  const results: unknown[] = []
  for (const { pattern, definedIn } of input.patterns as readonly PatternOf[]) {
    const map = definedIn === undefined ? maps[0] : maps.find(({ name }) => name === definedIn)
    results.push(await resolver.resolve(pattern, map).catch(failure))
  }
  const wanted = want.results as readonly unknown[]
  return [
    ...sameValue('results.length', wanted.length, results.length),
    ...wanted.flatMap((result, index) => sameValue(`results[${index}]`, result, results[index])),
  ]
}

function failure(error: unknown): { readonly error: true } {
  if (error instanceof PatternError || error instanceof StatusError) return { error: true }
  throw error
}

function mapOf({ name, variables, snippets }: JsonObject): ActionMap {
  const data = Object.fromEntries(
    Object.entries({ variables, snippets }).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, JSON.stringify(value)]],
    ),
  )
  return parseActionMap(configMap(name as string, namespace, data))
}
