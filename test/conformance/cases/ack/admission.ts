// Asks the API server whether the rules that are generated for a kind admit an object.
import { ApiServer, memory } from '@fairlead/apiserver'
import { installDefinitions } from '@fairlead/controller'
import { StatusError } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { generate, readGeneratorConfig } from '@fairlead/references/generator'
import type { ServiceModel, Shape } from '@fairlead/references/generator'
import type { CaseRow } from './case-objects.ts'
import type { ReconcileCase } from './reconcile-case.ts'

/** Returns the model of a kind whose fields are those that its objects have; only top-level fields have references. */
function modelOf(kind: string, spec: JsonObject, rows: readonly CaseRow[]): ServiceModel {
  const fields = new Map(
    [...Object.keys(spec), ...rows.map(({ field }) => field)]
      .filter((name) => !rows.some(({ ref }) => ref === name))
      .map((name) => {
        const required = rows.some((row) => row.field === name && row.required === true)
        return [name, { shape: 'String', required }]
      }),
  )
  const shapes = new Map<string, Shape>([
    ['String', { type: 'string' }],
    ['Input', { type: 'structure', fields }],
    ['Output', { type: 'structure', fields: new Map() }],
  ])
  return { operations: new Map([[`Create${kind}`, { input: 'Input', output: 'Output' }]]), shapes }
}

/** Reports whether the reconciled object of a case is admitted. */
export async function isAdmitted({ table, objects, reconcile, bothSet }: ReconcileCase): Promise<boolean> {
  const given = objects.find(({ kind, namespace, name }) => `${kind}/${namespace}/${name}` === reconcile)
  if (given === undefined) throw new Error(`the case has no object ${reconcile}`)
  const rows = table[given.kind] ?? []
  const fields = Object.fromEntries(
    rows.map((row) => [
      row.field,
      { references: { resource: row.kind, path: row.value, ref_field: row.ref, service_name: 'case' } },
    ]),
  )
  const config = readGeneratorConfig({ resources: { [given.kind]: { fields } } })
  const { group, version, kinds } = generate({
    model: modelOf(given.kind, given.spec, rows),
    config,
    service: 'case',
    ...(bothSet === undefined ? {} : { bothSet }),
  })
  await using server = await ApiServer.start({ storage: memory() })
  const client = server.client()
  await installDefinitions(
    client,
    kinds.map(({ crd }) => crd),
  )
  const object = {
    apiVersion: `${group}/${version}`,
    kind: given.kind,
    metadata: { name: given.name, namespace: 'default' },
    spec: given.spec,
  } as KubeObject
  try {
    await client.create(object)
    return true
  } catch (error) {
    if (error instanceof StatusError && error.reason === 'Invalid') return false
    throw error
  }
}
