// The cost of admission of a capability's object grows with its size, not faster: every list, map and string of the
// spec of every kind, through its schema, CEL rules and validators. A sample of them; `npm run test:long` tries all.
import { actions } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import { aws } from '@fairlead/aws'
import { installDefinitions } from '@fairlead/controller'
import type { JsonObject } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { packages } from '@fairlead/packages'
import { references } from '@fairlead/references'
import { supply } from '@fairlead/supply'
import { variants } from '@fairlead/variants'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleOf } from '../support/sample.ts'
import { expectSteadyGrowth } from './expect-growth.ts'
import { growingKinds, growingPaths, grownObject } from './growing-schema.ts'
import { StepCounter } from './step-counter.ts'

const capabilities = [metacontroller, supply, packages, variants, references, aws, actions]
const user = { name: 'admin', groups: ['system:masters'] }
let server: ApiServer
let counter: StepCounter

beforeAll(async () => {
  const validators = capabilities.flatMap(({ admission }) => admission ?? [])
  server = await ApiServer.start({ controllers: ['crd'], validators })
  const definitions = capabilities.flatMap(({ crds }) => crds)
  await installDefinitions(server.client(), definitions)
  counter = await StepCounter.start()
})
afterAll(async () => {
  await counter[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const shapes = growingKinds(capabilities.flatMap(({ crds }) => crds)).flatMap((kind) => {
  const { spec } = kind.schema.properties ?? {}
  return (spec === undefined ? [] : growingPaths(spec)).map((path) => ({
    title: `${kind.kind} ${kind.apiVersion} spec.${path.join('.')}`,
    path: `/apis/${kind.apiVersion}${kind.namespaced ? '/namespaces/default' : ''}/${kind.plural}`,
    body: (size: number) => grownObject(kind, path, size) as unknown as JsonObject,
  }))
})

test('every capability has kinds whose fields grow', () => {
  for (const { crds, name } of capabilities) {
    const ofCapability = growingKinds(crds).map(({ kind, apiVersion }) => `${kind} ${apiVersion}`)
    const grown = shapes.filter(({ title }) => ofCapability.some((one) => title.startsWith(`${one} `)))
    expect(grown.length, name).toBeGreaterThan(0)
  }
})

test.each(sampleOf(shapes, 25).map((shape) => [shape.title, shape] as const))(
  'costs of admission grow with the size of a spec, not faster: %s',
  async (_, { path, body }) => {
    await expectSteadyGrowth(counter, async (size) => {
      const { status } = await server.inject({ method: 'POST', path: `${path}?dryRun=All`, user, body: body(size) })
      if (![201, 400, 422].includes(status)) throw new Error(`the server answered ${status}`)
    })
  },
)
