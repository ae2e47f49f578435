// The life of a revision of a package with ten files: create, propose, approve and delete, beside 10, 50 and 500
// revisions of other packages; with the number of processes of git that each starts.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { PackageRevisionKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import type { Figure } from '../figure.ts'
import { PackageCluster } from './cluster.ts'
import { importPackages } from './import-packages.ts'

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

async function beside(revisions: number): Promise<readonly Figure[]> {
  // The timers of the clock do not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  await using cluster = await PackageCluster.start()
  const folder = join(cluster.folder, 'packages', 'managed', 'default', 'blueprints.git')
  mkdirSync(folder, { recursive: true })
  execFileSync('git', ['init', '--bare', '--quiet', '-b', 'main', folder])
  importPackages(folder, { packages: revisions / 10, revisions: 10 })
  await cluster.register('blueprints')
  const times: Record<Step, number[]> = { create: [], propose: [], approve: [], delete: [] }
  const processes: Record<Step, number> = { create: 0, propose: 0, approve: 0, delete: 0 }
  const measured = async <T>(step: Step, run: () => Promise<T>): Promise<T> => {
    const [begin, before] = [performance.now(), cluster.processes]
    const result = await run()
    times[step].push(performance.now() - begin)
    processes[step] += cluster.processes - before
    return result
  }
  const round = async (name: string): Promise<void> => {
    const upstream = { upstreamRef: { upstreamRef: { name: 'blueprints.package-0.v1' } } }
    const draft = await measured('create', () =>
      cluster.create('blueprints', name, 'one', [{ type: 'clone', clone: upstream }]),
    )
    const proposed = await measured('propose', () => cluster.setLifecycle(draft, 'Proposed'))
    const published = await measured('approve', () => cluster.setLifecycle(proposed, 'Published', 'approval'))
    const ended: PackageRevision = await cluster.setLifecycle(published, 'DeletionProposed', 'approval')
    const { namespace, name: revision } = ended.metadata
    await measured('delete', () => cluster.client.delete(PackageRevisionKind, `${namespace}/${revision}`))
  }
  // Processes and threads that live longer are started once.
  for (let warm = 0; warm < 3; warm++) await round(`warm-${warm}`)
  for (const step of Object.keys(asked) as Step[]) {
    times[step] = []
    processes[step] = 0
  }
  for (let index = 0; index < rounds; index++) await round(`own-${index}`)
  clearInterval(alive)
  const steps = Object.keys(asked) as Step[]
  return [
    ...steps.map((step): Figure => {
      const reached = median(times[step])
      const title = `${step} a revision of 10 files beside ${revisions} revisions, median`
      return {
        figure: title,
        asked: `${asked[step]} ms`,
        reached: `${reached.toFixed(1)} ms`,
        holds: reached <= asked[step],
      }
    }),
    {
      figure: `processes of git started by ${rounds} times each step beside ${revisions} revisions`,
      asked: '0',
      reached: steps.map((step) => processes[step]).join(' + '),
      holds: steps.every((step) => processes[step] === 0),
      exact: true,
    },
  ]
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!
}
