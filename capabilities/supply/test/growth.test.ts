// The cost of a spec grows with its size, not with the square of its size: every list, map and string of every kind,
// from the schemas of the CRDs, and the graphs that blueprints can have; in steps that V8 counts. A sample of the fields; `npm run test:long` tries all.
import { stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { crds, supply } from '@fairlead/supply'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StepCounter } from '../../../test/growth/step-counter.ts'
import { sampleOf } from '../../../test/support/sample.ts'
import { chain, git, imageTemplate, sourceTemplate, supplyChain, template, thing, workloadOf } from './stage.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

interface Schema {
  readonly type?: string
  readonly enum?: readonly JsonValue[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly maxItems?: number
  readonly maxLength?: number
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

/** A place in a kind that can hold any number of values; `*` stands for an item of a list. */
type Path = readonly string[]

const manyOf = (size: number): readonly number[] => Array.from({ length: size }, (_, index) => index)

/** Returns the paths of the lists, maps and strings of a schema. */
function growing(schema: Schema, path: Path): Path[] {
  const isMap = schema.additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'] === true
  const own = isMap || schema.items !== undefined || (schema.type === 'string' && schema.enum === undefined)
  return [
    ...(own ? [path] : []),
    ...(schema.items === undefined ? [] : growing(schema.items, [...path, '*'])),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) => growing(one, [...path, name])),
  ]
}

/** Returns a value with what the schema requires, in which the place at `path` has the size. */
function valueOf(schema: Schema, path: Path | undefined, size: number, index = 0): JsonValue {
  const isGrown = path?.length === 0
  const count = isGrown ? size : 1
  if (schema.enum !== undefined) return schema.enum[0]!
  if (schema.items !== undefined) {
    const rest = path?.[0] === '*' ? path.slice(1) : undefined
    return manyOf(count).map((at) => valueOf(schema.items!, at === 0 ? rest : undefined, size, at))
  }
  if (schema.type === 'string') return isGrown ? 'x'.repeat(size) : `v${index}`
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer') return 1
  if (schema.properties === undefined) return Object.fromEntries(manyOf(count).map((at) => [`k${at}`, `v${at}`]))
  const out: MutableJsonObject = {}
  for (const [name, one] of Object.entries(schema.properties)) {
    const rest = path?.[0] === name ? path.slice(1) : undefined
    if (rest !== undefined || schema.required?.includes(name)) out[name] = valueOf(one, rest, size, index)
  }
  return out
}

interface Growing {
  readonly title: string
  objects(size: number): readonly KubeObject[]
}

/** The fields of templates are those of the first kind of templates; of the others only what that one lacks. */
function fromSchemas(): Growing[] {
  const known = new Set<string>()
  return crds.flatMap((definition) => {
    const { names, versions } = definition.spec as {
      names: { kind: string }
      versions: { schema: { openAPIV3Schema: Schema } }[]
    }
    const { kind } = names
    const { spec } = versions[0]!.schema.openAPIV3Schema.properties!
    const paths = growing(spec!, []).filter((path) => {
      const id = kind.endsWith('Template') ? path.join('.') : `${kind}.${path.join('.')}`
      const isNew = !known.has(id)
      known.add(id)
      return isNew
    })
    return paths.map((path): Growing => ({
      title: `${kind} ${path.join('.')}`,
      objects: (size) =>
        [
          sourceTemplate,
          imageTemplate,
          chain,
          workloadOf('app', 'web', git),
          inUse({
            apiVersion: 'carto.run/v1alpha1',
            kind,
            metadata: { name: 'grown', namespace: 'team-a', labels: { type: 'grown' } },
            spec: valueOf(spec!, path, size) as JsonObject,
          }),
        ].flat(),
    }))
  })
}

/** Returns the object with what makes a rendering use it. */
function inUse(object: KubeObject): KubeObject[] {
  const { kind, spec } = object as KubeObject & { spec: JsonObject }
  if (kind === 'ClusterSupplyChain') {
    const selector = { ...(spec['selector'] as JsonObject | undefined), type: 'grown' }
    return [{ ...object, spec: { ...spec, selector } }, workloadOf('grown', 'grown', git)]
  }
  if (!kind.endsWith('Template') || kind === 'ClusterRunTemplate') return [object]
  const content = spec['template'] ?? spec['ytt'] ?? spec['expression'] ?? { ...thing, metadata: { name: 'x' } }
  const name = ['ytt', 'expression'].find((one) => spec[one] !== undefined) ?? 'template'
  return [
    {
      ...object,
      spec: { ...spec, [name]: name === 'template' ? { ...thing, metadata: { name: 'x' }, spec: content } : content },
    },
    supplyChain('grown', 'grown', [{ name: 'only', templateRef: { kind: kind as 'ClusterTemplate', name: 'grown' } }]),
    workloadOf('grown', 'grown', git),
  ]
}

const ref = { kind: 'ClusterTemplate', name: 'step' } as const
const step = template('ClusterTemplate', 'step', { template: { ...thing, metadata: { name: 'x' } } })
const image = template('ClusterImageTemplate', 'pass', {
  imagePath: '.spec.image',
  template: { ...thing, metadata: { name: 'x' }, spec: { image: 'i' } },
})
const pass = (name: string, from: string): object => ({
  name,
  templateRef: {
    kind: 'ClusterImageTemplate',
    options: [
      { passThrough: 'in', selector: { matchLabels: { type: 'grown' } } },
      { name: 'pass', selector: { matchLabels: { never: 'true' } } },
    ],
  },
  images: [{ name: 'in', resource: from }],
})
const first = { name: 'r0', templateRef: { kind: 'ClusterImageTemplate', name: 'pass' } }
const graph = (title: string, resources: (size: number) => readonly object[]): Growing => ({
  title,
  objects: (size) => [
    step,
    image,
    supplyChain('grown', 'grown', resources(size) as never),
    workloadOf('grown', 'grown'),
  ],
})

const handmade: readonly Growing[] = [
  graph('resources that depend on nothing', (size) => manyOf(size).map((at) => ({ name: `r${at}`, templateRef: ref }))),
  graph('a chain of resources', (size) => [first, ...manyOf(size).map((at) => pass(`r${at + 1}`, `r${at}`))]),
  graph('a chain of resources in reverse', (size) =>
    [first, ...manyOf(size).map((at) => pass(`r${at + 1}`, `r${at}`))].toReversed(),
  ),
  graph('a cycle of resources', (size) => manyOf(size).map((at) => pass(`r${at}`, `r${(at + 1) % size}`))),
  graph('a resource with many inputs', (size) => [
    ...manyOf(size).map((at) => pass(`r${at + 1}`, 'r0')),
    first,
    { name: 'all', templateRef: ref, images: manyOf(size).map((at) => ({ name: `i${at}`, resource: `r${at + 1}` })) },
  ]),
  graph('resources of one name', (size) => manyOf(size).map(() => ({ name: 'r', templateRef: ref }))),
  {
    title: 'tags in a string',
    objects: (size) => [
      template('ClusterTemplate', 'step', {
        template: {
          ...thing,
          metadata: { name: 'x' },
          spec: { text: '$(workload.metadata.name)$ '.repeat(size) },
        },
      }),
      supplyChain('grown', 'grown', [{ name: 'only', templateRef: ref }]),
      workloadOf('grown', 'grown'),
    ],
  },
  {
    title: 'conditions and their matchers',
    objects: (size) => [
      template('ClusterTemplate', 'step', {
        template: { ...thing, metadata: { name: 'x' } },
        healthRule: {
          multiMatch: {
            healthy: { matchConditions: manyOf(size).map((at) => ({ type: `c${at}`, status: 'True' })) },
            unhealthy: { matchConditions: manyOf(size).map((at) => ({ type: `c${at}`, status: 'False' })) },
          },
        },
      }),
      supplyChain('grown', 'grown', [{ name: 'only', templateRef: ref }]),
      workloadOf('grown', 'grown'),
      {
        ...thing,
        metadata: { name: 'x', namespace: 'team-a' },
        status: { conditions: manyOf(size).map((at) => ({ type: `c${at}`, status: 'True', message: '' })) },
      },
    ],
  },
  {
    title: 'keys of an output',
    objects: (size) => [
      template('ClusterConfigTemplate', 'config', {
        configPath: '.spec',
        template: {
          ...thing,
          metadata: { name: 'x' },
          spec: Object.fromEntries(manyOf(size).map((at) => [`key-${at}-٤`, at])),
        } as never,
      }),
      supplyChain('grown', 'grown', [{ name: 'only', templateRef: { kind: 'ClusterConfigTemplate', name: 'config' } }]),
      workloadOf('grown', 'grown'),
    ],
  },
]

async function render(objects: readonly KubeObject[]): Promise<void> {
  const command = (await supply.commands!()).find(({ name }) => name === 'render')!
  const items = { apiVersion: 'v1', kind: 'List', items: objects as never }
  const context = {
    options: { filename: ['-'] },
    stdin: () => Promise.resolve(stringifyJson(items)),
    out: () => {},
    err: () => {},
  }
  // Invalid specs are reported, too.
  await Promise.resolve(command.run(context as never)).catch(() => {})
}

test.each([...sampleOf(fromSchemas(), 5), ...handmade].map((one) => [one.title, one] as const))(
  'costs grow with the size of a spec, not faster: %s',
  async (_, { objects }) => {
    await render(objects(20))
    const count = (size: number): Promise<number> => counter.count(() => render(objects(size)))
    const [small, medium, large] = [await count(200), await count(400), await count(800)] as const
    // The second increase would be four times the first one for a square, and is 2.27 times for n log n.
    const limit = 2.35 * Math.max(0, medium - small) + 20_000
    expect(large - medium, `${small}, ${medium}, ${large} steps for 200, 400, 800`).toBeLessThanOrEqual(limit)
  },
)
