// The generator on everything that ACK ships: each configuration whose model is at hand, and the CRDs of SageMaker and
// IAM field by field.
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, parseYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { GeneratorError, generate, readGeneratorConfig, readSmithyModel } from '@fairlead/references/generator'
import type { ServiceModel } from '@fairlead/references/generator'
import { expect, test } from 'vitest'
import { dataPath, describeData, readData } from '../../../test/support/conformance-data.ts'

const base = ['third-party', 'ack'] as const
const modelPath = (service: string): readonly string[] => [
  ...base,
  'code-generator/pkg/testdata/codegen/sdk-codegen/aws-models',
  `${service}.json`,
]
const models = new Map<string, ServiceModel>()

function modelOf(service: string): ServiceModel {
  const known = models.get(service)
  if (known !== undefined) return known
  const model = readSmithyModel(JSON.parse(readData(...modelPath(service))) as JsonValue)
  models.set(service, model)
  return model
}

/** Errors that a configuration is meant to have, or has with models older than itself. */
const expectedErrors: readonly (readonly [part: string, message: string])[] = [
  ['lambda/0000-00-00/generator-updateable-empty-in', 'must not be empty'],
  ['lambda/0000-00-00/generator-updateable-empty-path', 'empty path'],
  ['lambda/0000-00-00/generator-updateable-invalid-path', 'has no field at Status.NonExistentField'],
  ['emrcontainers/0000-00-00/generator-with-cycle', 'cyclic type reference'],
  // The configuration names a field that the API got after the model was taken.
  ['sagemaker-controller/generator', 'DescribeProject has no field TemplateProviderDetails'],
]

interface Configuration {
  readonly path: string
  readonly service: string
}

describeData(
  'configurations that ACK ships',
  {
    minimum: 46,
    read: () =>
      globSync('**/generator*.yaml', { cwd: dataPath(...base) })
        .map((path): Configuration => ({
          path,
          service: /apis\/([^/]+)\/|([a-z]+)-controller\//.exec(path)?.slice(1).find(Boolean) ?? '',
        }))
        .filter(({ service }) => existsSync(dataPath(...modelPath(service)))),
  },
  (configurations) => {
    test.each(configurations)('$path runs, or says what is wrong with it', ({ path, service }) => {
      const config = (): void => {
        const read = readGeneratorConfig(parseYaml(readFileSync(dataPath(...base, path), 'utf8')))
        expect(
          generate({ model: modelOf(service), config: read, service, naming: 'ack' }).kinds.length,
        ).toBeGreaterThan(0)
      }
      const wrong = expectedErrors.find(([part]) => path.includes(`${part}.yaml`))
      if (wrong === undefined) config()
      else {
        expect(config).toThrow(GeneratorError)
        expect(config).toThrow(wrong[1])
      }
    })
  },
)

/** Returns the paths of all fields of a schema with their types. */
function fieldsOf(schema: JsonValue | undefined, at: string): readonly (readonly [string, JsonValue | undefined])[] {
  if (!isJsonObject(schema)) return []
  const { properties, items, additionalProperties, type } = schema
  return [
    [at, type],
    ...Object.entries((properties ?? {}) as JsonObject).flatMap(([name, one]) => fieldsOf(one, `${at}.${name}`)),
    ...fieldsOf(items, `${at}[]`),
    ...fieldsOf(additionalProperties, `${at}{}`),
  ]
}

interface Shipped {
  readonly service: string
  readonly kind: string
  readonly fields: readonly (readonly [string, JsonValue | undefined])[]
}

function sections(crd: JsonValue): readonly (readonly [string, JsonValue | undefined])[] {
  const { openAPIV3Schema } = (
    crd as unknown as { spec: { versions: readonly [{ schema: { openAPIV3Schema: { properties: JsonObject } } }] } }
  ).spec.versions[0].schema
  return ['spec', 'status'].flatMap((name) => fieldsOf(openAPIV3Schema.properties[name], name))
}

function shipped(service: string): readonly Shipped[] {
  const folder = dataPath(...base, `${service}-controller/config/crd/bases`)
  return readdirSync(folder).map((file) => {
    const crd = parseYaml(readFileSync(join(folder, file), 'utf8'))
    return {
      service,
      kind: (crd as unknown as { spec: { names: { kind: string } } }).spec.names.kind,
      fields: sections(crd),
    }
  })
}

/** Fields of the CRDs that the models, which are older, do not have, by service and kind. */
const newerFields = JSON.parse(
  readFileSync(new URL('shipped-crds-newer-fields.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, readonly string[]>>

/** Fields that ACK renames because its own language reserves the word (`type_`), which a manifest need not. */
const reserved = /\.type_$/
/** Fields that we add to every status, and to kinds with references. */
const added = /\.(?:resolvedReferences|observedGeneration)|Refs?(?:\[\])?(?:\.|$)/

describeData(
  'CRDs that ACK ships',
  { minimum: 32, read: () => [...shipped('sagemaker'), ...shipped('iam')].filter(({ kind }) => kind !== 'Project') },
  (crds) => {
    test.each(crds)('$service $kind has the same names and types', ({ service, kind, fields }) => {
      const config = readGeneratorConfig(parseYaml(readData(...base, `${service}-controller`, 'generator.yaml')))
      const resource = [...config.resources.keys()].find((name) => name === kind) ?? kind
      const [made] = generate({
        model: modelOf(service),
        config,
        service,
        naming: service === 'iam' ? 'ack' : 'seed',
        resources: [resource],
      }).kinds
      const ours = new Map(sections(made?.crd as unknown as JsonValue))
      const theirs = new Map(fields.map(([path, type]) => [path.replace(reserved, '.type'), type]))
      const common = [...theirs].filter(([path]) => ours.has(path))
      expect(common.filter(([path, type]) => ours.get(path) !== type)).toEqual([])
      expect([...ours.keys()].filter((path) => !theirs.has(path) && !added.test(path))).toEqual([])
      // The fields that they have beyond ours, each listed, are newer than the model.
      const missing = [...theirs.keys()].filter((path) => !ours.has(path))
      expect(missing).toEqual(newerFields[`${service} ${kind}`] ?? [])
    })
  },
)
