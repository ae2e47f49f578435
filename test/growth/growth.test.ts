// The cost of a request grows with its size, not with the square of it: every list, map and string of the built-in
// kinds, and lists and maps of a custom resource, in steps that V8 counts. A sample of them; `npm run
// test:long` tries all, and measures time.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { sampleOf } from '../support/sample.ts'
import { eventually } from '../support/until.ts'
import { growsTooFast, stepsOf } from './expect-growth.ts'
import type { Steps } from './expect-growth.ts'
import { customDefinition, customRequests, growingRequests } from './growing-requests.ts'
import type { GrowingRequest } from './growing-requests.ts'
import { StepCounter } from './step-counter.ts'

let server: ApiServer
let counter: StepCounter
const user = { name: 'admin', groups: ['system:masters'] }

beforeAll(async () => {
  server = await ApiServer.start({ controllers: ['crd'] })
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await server.inject({ method: 'POST', path, user, body: customDefinition })
  const [custom] = customRequests()
  await eventually(async () =>
    expect((await server.inject({ method: 'GET', path: custom!.path, user })).status).toBe(200),
  )
  counter = await StepCounter.start()
})
afterAll(async () => {
  await counter[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

function send({ path, method, type, body }: GrowingRequest, size: number, only?: number): Promise<unknown> {
  const query = method === 'PATCH' ? '/growing?fieldManager=m&force=true&dryRun=All' : '?dryRun=All'
  const text = JSON.stringify(body(size, only))
  return server.inject({ method, path: `${path}${query}`, user, headers: { 'content-type': type }, body: text })
}

/** Steps of requests of three sizes, each twice the one before. */
const steps = (request: GrowingRequest, only?: number): Promise<Steps> =>
  stepsOf(counter, (size) => send(request, size, only))

test.each(sampleOf([...growingRequests(), ...customRequests()], 5).map((request) => [request.title, request] as const))(
  'costs grow with the size of a request, not faster: %s',
  async (_, request) => {
    if (!growsTooFast(await steps(request))) return
    const culprits: string[] = []
    for (const [index, field] of request.fields.entries()) {
      const found = await steps(request, index)
      if (growsTooFast(found)) culprits.push(`${field}: ${found.join(', ')} steps for 200, 400, 800`)
    }
    expect(culprits).toEqual([])
  },
)
