// The life of a revision of a package with ten files: create, propose, approve and delete, beside 10, 50 and 500
// revisions of other packages; with the number of processes of git that each starts. Where `PORCH_SERVER` names the
// real Porch, its times are printed beside ours; clients reach ours in the same process, and Porch over HTTPS.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { PackageRevisionKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import type { Figure } from '../figure.ts'
import { PackageCluster } from './cluster.ts'
import { importPackages } from './import-packages.ts'
import type { PackageClient } from './package-client.ts'
import { Porch, porchProgram } from './porch.ts'

const rounds = 15

/** Milliseconds that each step may take (spec packages §4). */
const asked = { create: 30, propose: 15, approve: 30, delete: 30 } as const

type Step = keyof typeof asked

/** Measures the steps. */
export async function lifecycle(): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const revisions of [10, 50, 500]) figures.push(...(await beside(revisions)))
  return figures
}

/** Milliseconds of each step, and processes of git that were started for it. */
interface Measured {
  readonly times: Readonly<Record<Step, readonly number[]>>
  readonly processes: Readonly<Record<Step, number>>
}

async function beside(revisions: number): Promise<readonly Figure[]> {
  // The timers of the clock do not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  const own = await measureOurs(revisions)
  const peer = porchProgram === undefined ? undefined : await measurePorch(porchProgram, revisions)
  clearInterval(alive)
  const steps = Object.keys(asked) as Step[]
  return [
    ...steps.map((step): Figure => {
      const reached = median(own.times[step])
      const title = `${step} a revision of 10 files beside ${revisions} revisions, median`
      return {
        figure: title,
        asked: `${asked[step]} ms`,
        reached: `${reached.toFixed(1)} ms`,
        holds: reached <= asked[step],
        ...(peer !== undefined && { peer: `${median(peer.times[step]).toFixed(0)} ms` }),
      }
    }),
    {
      figure: `processes of git started by ${rounds} times each step beside ${revisions} revisions`,
      asked: '0',
      reached: steps.map((step) => own.processes[step]).join(' + '),
      holds: steps.every((step) => own.processes[step] === 0),
      exact: true,
    },
  ]
}

async function measureOurs(revisions: number): Promise<Measured> {
  await using cluster = await PackageCluster.start()
  const folder = join(cluster.folder, 'packages', 'managed', 'default', 'blueprints.git')
  importInto(folder, revisions)
  await cluster.register('blueprints')
  return await measure(cluster, { warm: 3, rounds }, () => cluster.processes)
}

/** Porch fetches from a folder, as it keeps no repository of its own. */
async function measurePorch(program: string, revisions: number): Promise<Measured> {
  await using porch = await Porch.start(program)
  const folder = join(porch.folder, 'blueprints.git')
  importInto(folder, revisions)
  await porch.register('blueprints', `file://${folder}`)
  return await measure(porch, { warm: 1, rounds: 5 }, () => 0)
}

function importInto(folder: string, revisions: number): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('git', ['init', '--bare', '--quiet', '-b', 'main', folder])
  importPackages(folder, { packages: revisions / 10, revisions: 10 })
}

async function measure(
  server: PackageClient,
  count: { readonly warm: number; readonly rounds: number },
  started: () => number,
): Promise<Measured> {
  const times: Record<Step, number[]> = { create: [], propose: [], approve: [], delete: [] }
  const processes: Record<Step, number> = { create: 0, propose: 0, approve: 0, delete: 0 }
  const measured = async <T>(step: Step, run: () => Promise<T>): Promise<T> => {
    const [begin, before] = [performance.now(), started()]
    const result = await run()
    times[step].push(performance.now() - begin)
    processes[step] += started() - before
    return result
  }
  const round = async (name: string): Promise<void> => {
    const upstream = { upstreamRef: { upstreamRef: { name: 'blueprints.package-0.v1' } } }
    const draft = await measured('create', () =>
      server.create('blueprints', name, 'one', [{ type: 'clone', clone: upstream }]),
    )
    const proposed = await measured('propose', () => server.setLifecycle(draft, 'Proposed'))
    const published = await measured('approve', () => server.setLifecycle(proposed, 'Published', 'approval'))
    const ended: PackageRevision = await server.setLifecycle(published, 'DeletionProposed', 'approval')
    const { namespace, name: revision } = ended.metadata
    await measured('delete', () => server.client.delete(PackageRevisionKind, `${namespace}/${revision}`))
  }
  // Processes and threads that live longer are started once.
  for (let warm = 0; warm < count.warm; warm++) await round(`warm-${warm}`)
  for (const step of Object.keys(asked) as Step[]) {
    times[step] = []
    processes[step] = 0
  }
  for (let index = 0; index < count.rounds; index++) await round(`own-${index}`)
  return { times, processes }
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!
}
