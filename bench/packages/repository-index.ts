// The index of a remote repository of 1,000 packages with 10 revisions each, read for the first time.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from '../figure.ts'
import { importPackages } from './import-packages.ts'

const count = { packages: 1_000, revisions: 10 }

/** Processes of git: init, fetch, for-each-ref, log, cat-file, and update-ref by the sync itself. */
const asked = { milliseconds: 5_000, megabytes: 300, processes: 8 }

interface Measured {
  readonly revisions: number
  readonly index: number
  readonly list: number
  readonly processes: number
  readonly megabytes: number
}

/** Measures the index. */
export async function repositoryIndex(): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-index-'))
  try {
    execFileSync('git', ['init', '--bare', '--quiet', '-b', 'main', folder])
    importPackages(folder, count)
    const program = fileURLToPath(new URL('./index-process.ts', import.meta.url))
    const args = ['--max-semi-space-size=8', '--conditions=@fairlead/source', program, folder]
    const output = execFileSync(process.execPath, args, { encoding: 'utf8' })
    const { revisions, index, list, processes, megabytes } = JSON.parse(output) as Measured
    const title = `index ${count.packages} packages x ${count.revisions} revisions`
    return [
      {
        figure: `${title}, from the registration to Ready`,
        asked: '5 s',
        reached: `${(index / 1000).toFixed(1)} s`,
        holds: index <= asked.milliseconds,
      },
      {
        figure: `${title} and list them, memory of the whole server at its peak`,
        asked: `${asked.megabytes} MB`,
        reached: `${megabytes.toFixed(0)} MB`,
        holds: megabytes <= asked.megabytes,
      },
      { figure: `${title}: the first list`, asked: '', reached: `${(list / 1000).toFixed(1)} s`, holds: undefined },
      {
        figure: `${title}: revisions listed`,
        asked: String(count.packages * (count.revisions + 1)),
        reached: String(revisions),
        holds: revisions === count.packages * (count.revisions + 1),
        exact: true,
      },
      {
        figure: `${title}: processes of git`,
        asked: `<= ${asked.processes}`,
        reached: String(processes),
        holds: processes <= asked.processes,
        exact: true,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
