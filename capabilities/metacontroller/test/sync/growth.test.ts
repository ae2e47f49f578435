// The cost of many parents, counted: calls, reads and writes grow with their number, not faster.
import { expect, test } from 'vitest'
import { recorded } from '../../../../test/support/recorded-client.ts'
import { controller, fleet, hook, set, stage, useHook } from './fleet.ts'

useHook()

/** Number of parents in the larger of two runs; the smaller has half of it. */
const most = Number(process.env['FAIRLEAD_GROWTH_PARENTS'] ?? 40)

interface Counts {
  readonly calls: number
  readonly reads: number
  readonly writes: number
}

/** Counts what so many parents with a child each cost from nothing, and after a restart. */
async function costOf(parents: number): Promise<readonly Counts[]> {
  await set()
  await stage.stopControllers()
  const { client, transport } = recorded(stage.server.client())
  const count = (): Counts => {
    const requests = transport.requests.splice(0).filter((request) => !request.includes('/events'))
    const ofChildren = requests.filter((request) => /\/namespaces\/default\/(configmaps|fleets)/.test(request))
    const reads = ofChildren.filter((request) => request.startsWith('GET')).length
    const watches = ofChildren.filter((request) => request.startsWith('WATCH')).length
    return { calls: hook.calls.splice(0).length, reads, writes: ofChildren.length - reads - watches }
  }
  for (let at = 0; at < parents; at++) {
    const matchLabels = { fleet: `f${at}` }
    await stage.during(stage.client.create(fleet([`s${at}`], { selector: { matchLabels } }, { name: `f${at}` })))
  }
  hook.reply = ({ body }) => {
    const { metadata, spec } = body.parent as unknown as { metadata: { name: string }; spec: { ships: string[] } }
    const labels = { fleet: metadata.name }
    const children = spec.ships.map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } }))
    return { body: { status: { of: 'hook' }, children } }
  }
  await stage.startControllers({ controllerClient: () => client })
  await stage.apply(controller())
  await stage.pass(10)
  const first = count()
  await stage.stopControllers()
  await stage.startControllers({ controllerClient: () => client })
  await stage.pass(10)
  const again = count()
  await stage[Symbol.asyncDispose]()
  return [first, again]
}

test('calls and writes are twice as many for twice as many parents, and nothing is read one by one', async () => {
  const half = await costOf(most / 2)
  const whole = await costOf(most)
  await set()
  const perParent = (counts: readonly Counts[], parents: number): unknown =>
    counts.map(({ calls, reads, writes }) => [calls / parents, reads, writes / parents])
  // From nothing: a call that decides and one that sees the outcome, a child and a status. Again: a call.
  const expected = [
    [2, 0, 2],
    [1, 0, 0],
  ]
  expect([perParent(half, most / 2), perParent(whole, most)]).toEqual([expected, expected])
})
