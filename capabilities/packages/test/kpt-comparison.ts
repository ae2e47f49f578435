// Updates of random packages by the installed kpt and by ours, compared. The packages lie as subpackages in one package,
// so that one run of kpt merges a whole batch.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { parseYaml, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { PackageFiles } from '@fairlead/packages'
import { updatePackage } from '@fairlead/packages'
import fc from 'fast-check'
import { addMergeComments } from '../src/engine/update/merge-comments.ts'
import type { ListEdit } from './random-kptfiles.ts'
import { editedLists, kptfileText, listEdits, lists } from './random-kptfiles.ts'
import type { Edit } from './random-packages.ts'
import { edited, edits, filesOf, packages } from './random-packages.ts'
import { UpstreamRepository } from './upstream-repository.ts'

/** The version of the installed kpt; undefined without one. */
export function kptVersion(): string | undefined {
  const { status, stdout } = spawnSync('kpt', ['version'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** One resource that kpt and ours left differently; values are undefined where there is none. */
export interface Difference {
  readonly file: string
  readonly base: JsonObject | undefined
  readonly upstream: JsonObject | undefined
  readonly local: JsonObject | undefined
  readonly kpt: JsonObject | undefined
  readonly ours: JsonObject | undefined
  /** The resource is in another file in one of the versions. */
  readonly isMoved: boolean
  /** The update leaves no resource in the package. */
  readonly isEmptied: boolean
  /** What kpt printed when it gave up; ours did not. */
  readonly failure?: string
}

/** Three versions of a package. */
interface Versions {
  readonly base: PackageFiles
  readonly upstream: PackageFiles
  readonly local: PackageFiles
}

/** Subpackages of one run: kpt's time grows with their square. */
const batchSize = 40

/** Updates packages with kpt and ours, those of a range of the sample, and returns what differs. */
export function compareUpdates(count: number, seed: number, [from, to]: readonly [number, number]): Difference[] {
  const sample = fc.tuple(fc.tuple(packages, lists), fc.tuple(edits, listEdits), fc.tuple(edits, listEdits))
  const chosen = fc.sample(sample, { numRuns: count, seed }).slice(from, to)
  const parts = chosen.map(([[base, own], upstream, local]): Versions => {
    const version = (
      changes: readonly Edit[],
      listChanges: readonly ListEdit[],
      side: string,
    ): Map<string, string | Uint8Array> =>
      new Map([
        ...filesOf(edited(base, changes)),
        ['Kptfile', kptfileText('part', editedLists(own, listChanges, side))],
      ])
    const mine = version(...local, 'local')
    const commented = addMergeComments(mine, { annotate: true })
    for (const [path, content] of commented) {
      // What a package added itself has no merge comment.
      const name = path.replace(/^other-|\.yaml$/g, '')
      if (path === 'Kptfile' || base[name] !== undefined) mine.set(path, content)
    }
    return { base: version([], [], ''), upstream: version(...upstream, 'upstream'), local: mine }
  })
  const batches = Array.from({ length: Math.ceil(parts.length / batchSize) }, (_, index) =>
    parts.slice(index * batchSize, (index + 1) * batchSize),
  )
  return batches.flatMap(compareBatch)
}

/** Compares a batch; where kpt fails, its halves, until the packages that make it fail are found. */
function compareBatch(batch: readonly Versions[]): Difference[] {
  try {
    return runBoth({ base: joined(batch, 'base'), upstream: joined(batch, 'upstream'), local: joined(batch, 'local') })
  } catch (error) {
    if (!(error instanceof KptFailure)) throw error
    const half = Math.ceil(batch.length / 2)
    if (batch.length > 1) return [...compareBatch(batch.slice(0, half)), ...compareBatch(batch.slice(half))]
    const none = { base: undefined, upstream: undefined, local: undefined, kpt: undefined, ours: undefined }
    return [{ file: 'Kptfile', ...none, isMoved: false, isEmptied: false, failure: error.message }]
  }
}

class KptFailure extends Error {}

function joined(parts: readonly Versions[], version: keyof Versions): PackageFiles {
  const out = new Map<string, string | Uint8Array>([['Kptfile', kptfileText('all', { mutators: [], gates: [] })]])
  for (const [index, part] of parts.entries())
    for (const [path, content] of part[version]) out.set(`p${index}/${path}`, content)
  return out
}

function runBoth(versions: Versions): Difference[] {
  using upstream = new UpstreamRepository()
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-kpt-'))
  try {
    upstream.publish('all', 'v1', strings(versions.base))
    upstream.publish('all', 'v2', strings(versions.upstream))
    const local = join(folder, 'all')
    kpt(folder, 'get', upstream.address('all', 'v1'), 'all')
    const fetched = readFileSync(join(local, 'Kptfile'), 'utf8')
    const files = new Map([...versions.local, ['Kptfile', fetched]])
    rmSync(local, { recursive: true })
    for (const [path, content] of files) {
      mkdirSync(dirname(join(local, path)), { recursive: true })
      writeFileSync(join(local, path), content)
    }
    execFileSync('git', ['init', '--quiet'], { cwd: folder })
    execFileSync('git', ['add', '--all'], { cwd: folder })
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '--quiet', '-m', 'local'], {
      cwd: folder,
    })
    const ours = updatePackage({ ...versions, local: files, strategy: 'resource-merge', annotate: true }).files
    kpt(folder, 'update', 'all@v2')
    return differences(versions, readFolder(local), ours)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function kpt(folder: string, ...args: readonly string[]): void {
  const environment = { ...process.env, KPT_CACHE_DIR: join(folder, '..', 'fairlead-kpt-cache') }
  const { status, stderr } = spawnSync('kpt', ['pkg', ...args], { cwd: folder, encoding: 'utf8', env: environment })
  if (status !== 0) throw new KptFailure(/^Error: (.*)$/m.exec(stderr)?.[1] ?? stderr)
}

function readFolder(folder: string): PackageFiles {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
}

function strings(files: PackageFiles): Record<string, string> {
  return Object.fromEntries([...files].map(([path, content]) => [path, String(content)]))
}

function differences(versions: Versions, kpt: PackageFiles, ours: PackageFiles): Difference[] {
  const paths = [...new Set([...kpt.keys(), ...ours.keys()])].filter((path) => path !== 'Kptfile').toSorted()
  return paths.flatMap((file) => {
    const value = (files: PackageFiles): JsonObject | undefined => valueOf(files.get(file))
    const sibling = file.includes('/other-') ? file.replace('/other-', '/') : file.replace('/', '/other-')
    const folder = file.slice(0, file.indexOf('/') + 1)
    const difference = {
      file,
      base: value(versions.base),
      upstream: value(versions.upstream),
      local: value(versions.local),
      kpt: value(kpt),
      ours: value(ours),
      isMoved: [versions.base, versions.upstream, versions.local].some((files) => files.has(sibling)),
      isEmptied: ![...ours.keys()].some((path) => path.startsWith(folder) && path.endsWith('.yaml')),
    }
    return JSON.stringify(sorted(difference.kpt ?? null)) === JSON.stringify(sorted(difference.ours ?? null))
      ? []
      : [difference]
  })
}

function valueOf(content: string | Uint8Array | undefined): JsonObject | undefined {
  if (content === undefined) return undefined
  const documents = parseYamlDocuments(String(content))
  if (documents.length > 1) throw new Error('generated files hold one resource')
  return withoutAnnotation(parseYaml(String(content)) as JsonObject)
}

/** Leaves out the bookkeeping annotation. */
function withoutAnnotation(object: JsonObject): JsonObject {
  const { annotations, ...metadata } = object['metadata'] as { annotations?: Record<string, string> }
  const { 'internal.kpt.dev/upstream-identifier': _, ...own } = annotations ?? {}
  return {
    ...object,
    metadata: { ...(metadata as JsonObject), ...(Object.keys(own).length === 0 ? {} : { annotations: own }) },
  }
}

/** Returns the value with its keys in order. */
export function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, child]) => [key, sorted(child)]),
  )
}
