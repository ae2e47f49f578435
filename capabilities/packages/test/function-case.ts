// Cases of kpt's and the catalog's suites: a package, how a function or a render runs on it, and what must come out.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { parseYaml } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { PackageFiles } from '@fairlead/packages'

/** What `.expected/config.yaml` says. */
export interface CaseConfig {
  readonly testType?: string
  readonly image?: string
  readonly args?: Readonly<Record<string, string>>
  readonly fnConfig?: string
  readonly exitCode?: number
  readonly stdErr?: string
  readonly stdOut?: string
  readonly stdErrStripLines?: readonly string[]
  readonly allowExec?: boolean
}

/** One case. */
export interface FunctionCase {
  readonly name: string
  readonly config: CaseConfig
  readonly files: PackageFiles
  /** The files afterwards. */
  readonly wanted: PackageFiles
  /** `.expected/results.yaml`. */
  readonly results: JsonObject | undefined
  /** Names of the functions that run. */
  readonly functions: readonly string[]
}

/** Reads the cases of a suite: folders with `.expected`. */
export function functionCases(suite: string): FunctionCase[] {
  return readdirSync(suite, { recursive: true, encoding: 'utf8' })
    .filter((path) => path === '.expected' || path.endsWith('/.expected'))
    .map((path) => readCase(join(suite, dirname(path)), dirname(path)))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function readCase(folder: string, name: string): FunctionCase {
  const files = readFolder(folder)
  const config = (parseYaml(files.get('.expected/config.yaml') ?? '') ?? {}) as unknown as CaseConfig
  const results = files.get('.expected/results.yaml')
  const kptfiles = [...files].filter(([path]) => path.endsWith('Kptfile')).map(([, content]) => content)
  const images = [config.image ?? '', ...kptfiles]
    .flatMap((text, index) => (index === 0 ? [text] : [...text.matchAll(/image: *(\S+)/g)].map(([, image]) => image!)))
    .filter((image) => image !== '')
  return {
    name,
    config,
    files,
    wanted: withPatch(files),
    results: results === undefined ? undefined : (parseYaml(results) as JsonObject),
    functions: [...new Set(config.testType === 'eval' ? images.slice(0, 1) : images)].map((image) =>
      image.replace(/^.*\//, '').replace(/[:@].*$/, ''),
    ),
  }
}

function readFolder(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [relative(folder, path), readFileSync(path, 'utf8')]
    }),
  )
}

/** Applies `.expected/diff.patch`; without one nothing may change. */
function withPatch(files: ReadonlyMap<string, string>): PackageFiles {
  const patch = files.get('.expected/diff.patch') ?? ''
  if (patch.trim() === '') return files
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-case-'))
  try {
    for (const [path, content] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    // One patch lacks its last line break.
    if (!patch.endsWith('\n')) writeFileSync(join(folder, '.expected/diff.patch'), `${patch}\n`)
    execFileSync('git', ['apply', '--whitespace=nowarn', '.expected/diff.patch'], { cwd: folder })
    return new Map(readFolder(folder)).set('.expected/diff.patch', patch)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
