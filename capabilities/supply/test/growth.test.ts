// The cost of a spec grows with its size, not with the square of its size: every list, map and string of every kind,
// from the schemas of the CRDs, and the graphs that blueprints can have; in steps that V8 counts. A sample of the fields; `npm run test:long` tries all.
import { stringifyJson } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { crds, supply } from '@fairlead/supply'
import { afterAll, beforeAll, test } from 'vitest'
import { expectSteadyGrowth } from '../../../test/growth/expect-growth.ts'
import { growingKinds, growingPaths, grownObject, manyOf } from '../../../test/growth/growing-schema.ts'
import { StepCounter } from '../../../test/growth/step-counter.ts'
import { sampleOf } from '../../../test/support/sample.ts'
import { chain, git, imageTemplate, sourceTemplate, supplyChain, template, thing, workloadOf } from './stage.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

interface Growing {
  readonly title: string
  objects(size: number): readonly KubeObject[]
}

/** The fields of templates are those of the first kind of templates; of the others only what that one lacks. */
function fromSchemas(): Growing[] {
  const known = new Set<string>()
  return growingKinds(crds).flatMap((definition) => {
    const { kind } = definition
    const paths = growingPaths(definition.schema.properties!['spec']!).filter((path) => {
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
          inUse(grownObject(definition, path, size, { name: 'grown', namespace: 'team-a', labels: { type: 'grown' } })),
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
    await expectSteadyGrowth(counter, (size) => render(objects(size)))
  },
)
