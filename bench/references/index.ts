// `npm run bench -- references`: the figures of specs/references.md §5. Waits pass on a fake clock; latencies are real.
import type { Figure } from '../figure.ts'
import { AwsCluster } from './cluster.ts'
import { chain, orders, policy, role } from './objects.ts'
import { manyDependents } from './rules.ts'

/** Measured changes, after those that load and compile what they run. */
const samples = 100
const unmeasured = 20
const waits = [30, 330, 1320]

/** Scenarios with exact counts. */
export const counted: readonly string[] = ['steady', 'chain', 'many']

const scenarios: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  ready: latencies,
  steady,
  chain: chains,
  many: () => manyDependents(10_000),
}

/** Measures the named scenarios: ready, steady, chain, many. */
export async function run(names: readonly string[] = []): Promise<readonly Figure[]> {
  // The timers of a fake clock do not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  const figures: Figure[] = []
  for (const [name, measure] of Object.entries(scenarios))
    if (names.length === 0 || names.includes(name)) figures.push(...(await measure()))
  clearInterval(alive)
  return figures
}

/** Roles wait for the Policy of their boundary, whose status this process writes as another controller would. */
async function latencies(): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const wait of waits) {
    console.log(`references: a referent that is ready after ${wait} s …`)
    await using cluster = await AwsCluster.start({ unmanaged: ['Policy'] })
    const names = Array.from({ length: samples + unmeasured }, (_, index) => `item-${index}`)
    const document = '{"Version":"2012-10-17","Statement":[]}'
    const policies = names.flatMap((name) => [name, `${name}-new`])
    cluster.aws.seed('us-east-1', {
      policies: policies.map((PolicyName) => ({ PolicyName, PolicyDocument: document })),
    })
    for (const name of names) {
      await cluster.during(cluster.client.create(policy(name)))
      await cluster.during(cluster.client.create(role(name, name)))
    }
    await cluster.quiet()
    await cluster.clock.advance(wait * 1000)
    const measured = async (operation: string, name: string, arn: string): Promise<number> => {
      const called = Promise.withResolvers<number>()
      cluster.aws.onCall = (made, input) => {
        if (made === operation && input['RoleName'] === name) called.resolve(performance.now())
      }
      const started = performance.now()
      await cluster.makeReady(policy(name), arn)
      const at = await cluster.during(called.promise)
      await cluster.quiet()
      return at - started
    }
    const created: number[] = []
    for (const name of names) created.push(await measured('CreateRole', name, arnOf(name)))
    figures.push(
      percentile(`a referent ready after ${wait} s -> create call of its dependent, ms p99 (median)`, created),
    )
    if (wait !== waits[0]) continue
    const changed: number[] = []
    for (const name of names) changed.push(await measured('PutRolePermissionsBoundary', name, arnOf(`${name}-new`)))
    figures.push(percentile('a changed referent -> update call of its dependent, ms p99 (median)', changed))
  }
  return figures
}

function arnOf(name: string): string {
  return `arn:aws:iam::123456789012:policy/${name}`
}

function percentile(figure: string, times: readonly number[]): Figure {
  const sorted = times.slice(unmeasured).toSorted((a, b) => a - b)
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] as number
  const median = sorted[Math.floor(sorted.length / 2)] as number
  return { figure, asked: '20', reached: `${p99.toFixed(1)} (${median.toFixed(1)})`, holds: p99 <= 20 }
}

/** An hour with 1,000 roles that are as wanted: without a resync, and with one in the hour. */
async function steady(): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const [resync, asked] of [
    [36_000_000, 0],
    [3_600_000, 1000],
  ] as const) {
    console.log(`references: an hour with a resync of ${resync / 3_600_000} h …`)
    await using cluster = await AwsCluster.start({ resync })
    const objects = Array.from({ length: 1000 }, (_, index) => role(`role-${index}`))
    for (const object of objects) await cluster.during(cluster.client.create(object))
    await cluster.until(() => cluster.aws.calls.filter(({ operation }) => operation === 'CreateRole').length === 1000)
    await cluster.quiet()
    cluster.aws.calls.length = 0
    for (let minute = 0; minute < 60; minute++) {
      await cluster.clock.advance(60_000)
      await cluster.quiet()
    }
    const reads = cluster.aws.calls.filter(({ operation }) => operation === 'GetRole').length
    const writes = cluster.aws.calls.filter(({ operation }) => !/^(?:Get|List)/.test(operation)).length
    const name = `1,000 roles, one hour, resync every ${resync / 3_600_000} h`
    figures.push(
      {
        figure: `${name}: descriptions read`,
        asked: `<= ${asked}`,
        reached: String(reads),
        holds: reads <= asked,
        exact: true,
      },
      { figure: `${name}: calls that change`, asked: '0', reached: String(writes), holds: writes === 0, exact: true },
    )
  }
  return figures
}

/** Role, Model, EndpointConfig and Endpoint in each of the 24 orders. */
async function chains(): Promise<readonly Figure[]> {
  console.log('references: a chain of four in every order …')
  await using cluster = await AwsCluster.start()
  let failed = 0
  const all = orders([0, 1, 2, 3])
  for (const [index, order] of all.entries()) {
    const objects = chain(`chain-${index}`)
    for (const at of order) await cluster.during(cluster.client.create(objects[at]!))
    await cluster.until(() => cluster.during(cluster.isSynced(objects[3]!)), 1000)
    failed += cluster.failed().length
    cluster.aws.calls.length = 0
  }
  return [
    {
      figure: `a chain of 4 in ${all.length} orders: calls that fail`,
      asked: '0',
      reached: String(failed),
      holds: failed === 0,
      exact: true,
    },
    {
      figure: `a chain of 4 in ${all.length} orders: violations`,
      asked: '0',
      reached: String(cluster.aws.violations.length),
      holds: cluster.aws.violations.length === 0,
      exact: true,
    },
  ]
}
