// The kubeconfig of `fairlead up`: written anew at each start, with the namespace that the user chose before.
import { readFileSync } from 'node:fs'
import { isJsonArray, isJsonObject, parseYaml, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'

/** Returns the text with the namespaces of the contexts of the same names in a file, if there is one. */
export function withNamespacesOf(file: string, text: string): string {
  const known = namespacesIn(file)
  if (known.size === 0) return text
  const config = parseYaml(text) as JsonObject
  const contexts = contextsOf(config).map((entry) => {
    const namespace = known.get(entry['name'])
    return namespace === undefined ? entry : { ...entry, context: { ...(entry['context'] as JsonObject), namespace } }
  })
  return stringifyYaml({ ...config, contexts })
}

function namespacesIn(file: string): ReadonlyMap<JsonValue | undefined, JsonValue> {
  try {
    const contexts = contextsOf(parseYaml(readFileSync(file, 'utf8')))
    return new Map(
      contexts.flatMap(({ name, context }) => {
        const namespace = isJsonObject(context) ? context['namespace'] : undefined
        return typeof namespace === 'string' ? [[name, namespace]] : []
      }),
    )
  } catch {
    // A file that is missing, or not a kubeconfig, names none.
    return new Map()
  }
}

function contextsOf(config: JsonValue): readonly JsonObject[] {
  const contexts = isJsonObject(config) ? config['contexts'] : undefined
  return isJsonArray(contexts ?? null) ? (contexts as readonly JsonValue[]).filter(isJsonObject) : []
}
