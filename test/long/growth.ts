// `node test/long/growth.ts [WORD]`: measures the processor time of requests whose lists, maps and strings grow, one
// field at a time, and refuses growth beyond n log n. Unlike the steps that test/growth counts, it includes what native
// functions do. With a word, only the requests whose title contains it.
import { ApiServer } from '@fairlead/apiserver'
import { customDefinition, customRequests, growingRequests } from '../growth/growing-requests.ts'
import type { GrowingRequest } from '../growth/growing-requests.ts'
import { Checks } from './checks.ts'

const user = { name: 'admin', groups: ['system:masters'] }
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const size = 3000
/** Twice the size may take 2.2 times as long for n log n; the rest is noise, also of the garbage collector. */
const factor = 3
const noiseMs = 15

await using server = await ApiServer.start({ controllers: ['crd'] })
await server.inject({ method: 'POST', path: definitions, user, body: customDefinition })
const [custom] = customRequests()
while ((await server.inject({ method: 'GET', path: custom!.path, user })).status !== 200)
  await new Promise((resolve) => setImmediate(resolve))

/** Returns the least processor time of some runs. Milliseconds. */
async function time(request: GrowingRequest, fields: number, only: number, runs: number): Promise<number> {
  const query = request.method === 'PATCH' ? '/growing?fieldManager=m&force=true&dryRun=All' : '?dryRun=All'
  const body = new TextEncoder().encode(JSON.stringify(request.body(fields, only)))
  const headers = { 'content-type': request.type }
  let least = Infinity
  for (let run = 0; run < runs; run++) {
    const before = process.threadCpuUsage()
    await server.inject({ method: request.method, path: `${request.path}${query}`, user, headers, body })
    const { user: inUser, system } = process.threadCpuUsage(before)
    least = Math.min(least, (inUser + system) / 1000)
  }
  return least
}

const checks = new Checks()
const word = process.argv[2] ?? ''
for (const request of [...growingRequests(), ...customRequests()].filter(({ title }) => title.includes(word))) {
  for (const [index, field] of request.fields.entries()) {
    let [once, twice] = [0, Infinity]
    for (const runs of [2, 5, 15]) {
      once = await time(request, size, index, runs)
      twice = await time(request, 2 * size, index, runs)
      if (twice <= factor * once + noiseMs) break
    }
    const shown = `${once.toFixed(0)} ms for ${size}, ${twice.toFixed(0)} ms for ${2 * size}`
    checks.check(twice <= factor * once + noiseMs, `${request.title}: ${field} takes ${shown}`)
  }
}
checks.close()
