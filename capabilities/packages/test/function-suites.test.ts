// The render suite of kpt and the examples and tests of the function catalog: files to the letter, results, exit codes.
// Cases that differ are listed with their reason; the suites print how many agree, by function.
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseYaml } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { PackageFiles } from '@fairlead/packages'
import { dataPath, describeData } from '../../../test/support/conformance-data.ts'
import { fileChanges } from '../src/engine/diff/file-changes.ts'
import { readPackageFolder, writeChanges } from '../src/offline/package-folder.ts'
import type { EvalFlags } from '../src/commands/pkg-eval.ts'
import { runWith as runEval } from '../src/commands/pkg-eval.ts'
import { runWith as runRender } from '../src/commands/pkg-render.ts'
import { PackageRenderer } from '../src/runtime/functions/package-renderer.ts'
import { formatDocument } from '../src/engine/yaml/format.ts'
import { isResourceFile, yamlDocuments } from '../src/engine/yaml/yaml-file.ts'
import type { CommandRun } from './command-run.ts'
import { runCommand } from './command-run.ts'
import type { FunctionCase } from './function-case.ts'
import { functionCases } from './function-case.ts'
import { differences, leftOut } from './function-suite-differences.ts'

interface Outcome {
  readonly files: PackageFiles
  readonly exitCode: number
  readonly results: unknown
  readonly log: string
  readonly out: string
}

interface Suite {
  readonly title: string
  readonly folder: string
  readonly minimum: number
  /** The kpt of the suite writes the outcome into the Kptfile. */
  readonly writesStatus: boolean
}

const suites: readonly Suite[] = [
  { title: 'fn-render of kpt', folder: 'kpt/e2e/testdata/fn-render', minimum: 101, writesStatus: true },
  {
    title: 'fn-render of kpt 1.0.0-beta.56',
    folder: 'kpt/v1.0.0-beta.56/e2e/testdata/fn-render',
    minimum: 83,
    writesStatus: false,
  },
  { title: 'function catalog', folder: 'krm-functions-catalog', minimum: 81, writesStatus: false },
]

for (const suite of suites)
  describeData<FunctionCase>(
    suite.title,
    { minimum: suite.minimum, read: () => functionCases(dataPath('third-party', suite.folder)) },
    (cases) => {
      const agreed = new Map<string, [agreed: number, all: number]>()
      for (const each of cases) {
        if (leftOut(each) !== undefined) continue
        const reason = differences[suite.folder]?.[each.name]
        const title = reason === undefined ? `agrees on ${each.name}` : `still differs on ${each.name}: ${reason}`
        test(title, async () => {
          const outcome = await run(each, suite.writesStatus)
          const isEqual = agrees(each, outcome)
          for (const name of each.functions.length === 0 ? ['none'] : each.functions) {
            const [good, all] = agreed.get(name) ?? [0, 0]
            agreed.set(name, [good + (isEqual ? 1 : 0), all + 1])
          }
          if (reason === undefined) expectAgreement(each, outcome)
          else expect(isEqual).toBe(false)
        })
      }
      afterAll(() => {
        const rows = [...agreed].toSorted(([a], [b]) => (a < b ? -1 : 1))
        const run = cases.filter((each) => leftOut(each) === undefined)
        const differing = run.filter(({ name }) => differences[suite.folder]?.[name] !== undefined).length
        console.log(
          `${suite.title}: ${run.length - differing} of ${run.length} agree (${cases.length - run.length} left out); ` +
            rows.map(([name, [good, all]]) => `${name} ${good}/${all}`).join(', '),
        )
      })
    },
  )

async function run(each: FunctionCase, writesStatus: boolean): Promise<Outcome> {
  const parent = mkdtempSync(join(tmpdir(), 'fairlead-case-'))
  try {
    const folder = join(parent, each.name.split('/').at(-1)!)
    await writeChanges(folder, fileChanges(new Map(), each.files))
    const { exitCode, out, err } = await runSteps(each, folder, writesStatus)
    const after = await readPackageFolder(folder, { links: 'skip' })
    const results = after.get('results/results.yaml')
    const files = new Map(after)
    files.delete('results/results.yaml')
    return {
      files,
      exitCode,
      out,
      log: err.replaceAll(/(?<=" in )\d+ms$/gm, '0s'),
      results: typeof results === 'string' ? resultItems(parseYaml(results) as JsonObject) : [],
    }
  } finally {
    rmSync(parent, { recursive: true })
  }
}

const renderer = new PackageRenderer({ workers: 1 })
afterAll(async () => await renderer[Symbol.asyncDispose]())

const noFlags = { output: undefined, resultsDir: undefined, imagePrefix: undefined, imagePullPolicy: 'IfNotPresent' }

const noEvalFlags: EvalFlags = {
  ...noFlags,
  image: undefined,
  exec: undefined,
  fnConfig: undefined,
  matchApiVersion: undefined,
  matchKind: undefined,
  matchName: undefined,
  matchNamespace: undefined,
  excludeApiVersion: undefined,
  excludeKind: undefined,
  excludeName: undefined,
  excludeNamespace: undefined,
}

interface Evaluated {
  readonly folder: string
  readonly options: Partial<EvalFlags>
  readonly data: readonly string[]
  readonly stdin?: string
}

async function evaluate({ folder, options, data, stdin }: Evaluated): Promise<CommandRun> {
  return await runCommand(async (context) => await runEval(renderer, context), {
    folder,
    options: { ...noEvalFlags, ...options },
    args: { folder: stdin === undefined ? undefined : '-', data },
    ...(stdin !== undefined && { stdin }),
  })
}

/** Runs a case as its suite does: one command, or those that its script had. */
async function runSteps(each: FunctionCase, folder: string, writesStatus: boolean): Promise<CommandRun> {
  const base = each.name.split('/').at(-1)!
  const results = each.results === undefined && !base.endsWith('results') ? {} : { resultsDir: 'results' }
  const { config } = each
  const alone = scripted[each.name] ?? config
  if (alone.testType === 'eval') {
    const { image = '', args = {}, fnConfig } = alone
    return await evaluate({
      folder,
      options: { ...results, image, ...(fnConfig !== undefined && { fnConfig: fnConfig.replace('../', '') }) },
      data: Object.entries(args).map(([key, value]) => `${key}=${value}`),
    })
  }
  if (base === 'set-namespace-kpt-package-context')
    await writeFile(join(folder, 'package-context.yaml'), packageContext)
  if (base === 'basicpipeline-out-of-place' || base === 'out-of-place-dir')
    await rm(join(folder, 'out'), { recursive: true, force: true })
  if (base === 'out-of-place-dir-exists-error') await mkdir(join(folder, 'out'), { recursive: true })
  if (base === 'basicpipeline-symlink') await symlink('.', join(folder, 'new-link'))
  const rendered = await runCommand(async (context) => await runRender(renderer, context, { writesStatus }), {
    folder,
    options: { ...noFlags, ...results, allowExec: config.allowExec ?? false, ...outputOf(base) },
    args: { folder: base === 'basicpipeline-symlink' ? 'new-link' : undefined },
  })
  if (base === 'basicpipeline-symlink') await rm(join(folder, 'new-link'))
  if (!base.startsWith('out-of-place-fnchain')) return rendered
  const annotated = await evaluate({
    folder,
    stdin: rendered.out,
    options: { ...results, image: 'ghcr.io/kptdev/krm-functions-catalog/set-annotations:latest' },
    data: ['foo=bar'],
  })
  const labelled = await evaluate({
    folder,
    stdin: annotated.out,
    options: {
      ...results,
      image: 'ghcr.io/kptdev/krm-functions-catalog/set-labels:latest',
      ...(base.endsWith('unwrap') && { output: 'unwrap' }),
    },
    data: ['tier=backend'],
  })
  return { ...labelled, err: [rendered.err, annotated.err, labelled.err].join('\n') }
}

function outputOf(base: string): { readonly output?: string } {
  if (base.includes('stdout') && base.startsWith('out-of-place')) return { output: 'stdout' }
  if (base === 'out-of-place-unwrap') return { output: 'unwrap' }
  if (base === 'out-of-place-fnchain-unwrap') return { output: 'stdout' }
  return base === 'basicpipeline-out-of-place' || base.startsWith('out-of-place-dir') ? { output: 'out' } : {}
}

/** Cases whose suite runs a script instead of the command that their configuration names. */
const scripted: Readonly<Record<string, FunctionCase['config']>> = {
  'examples/search-replace-create-setters': {
    testType: 'eval',
    image: 'search-replace',
    args: {
      'by-path': 'data.**',
      'by-value-regex': '(.*)nginx.com(.*)',
      'put-comment': 'kpt-set: ${1}${host}${2}',
    },
  },
  'tests/search-replace/file-path-match': {
    testType: 'eval',
    image: 'search-replace',
    args: { 'by-value': 'project-id', 'by-file-path': '**/setters.yaml', 'put-value': 'new-project' },
  },
}

/** What `kpt pkg init` writes. */
const packageContext = `apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: "true"
data:
  name: example
`

function resultItems(list: JsonObject): readonly unknown[] {
  return ((list['items'] ?? []) as readonly object[]).map((item) => resultItem(item))
}

/** Returns what is compared of one function's results: all but the image, whose registry and tag differ. */
function resultItem({
  exitCode,
  stderr,
  results,
}: {
  exitCode?: unknown
  stderr?: unknown
  results?: unknown
}): unknown {
  return JSON.parse(JSON.stringify({ exitCode, stderr, results }))
}

function wantedResults({ results }: FunctionCase): unknown {
  return results === undefined ? [] : resultItems(results)
}

/** Returns the lines that standard error must contain, without those that tell of another platform. */
function wantedLog({ config: { stdErr = '', stdErrStripLines = [] } }: FunctionCase): string {
  return stdErr
    .split('\n')
    .filter((line) => !stdErrStripLines.includes(line))
    .join('\n')
    .trim()
}

function loggedText({ config: { stdErrStripLines = [] } }: FunctionCase, log: string): string {
  return log
    .split('\n')
    .filter((line) => !stdErrStripLines.includes(line))
    .join('\n')
}

/** Returns the documents of a package, wherever they lie, with compact lists. */
function documentsOf(files: PackageFiles): readonly string[] {
  return [...files]
    .filter(([path]) => isResourceFile(path) && !path.startsWith('.expected/'))
    .flatMap(([path, content]) => yamlDocuments(path, String(content)))
    .map((document) => formatDocument(document.parse()))
    .toSorted()
}

function agrees(each: FunctionCase, outcome: Outcome): boolean {
  try {
    expectAgreement(each, outcome)
    return true
  } catch {
    return false
  }
}

function expectAgreement(each: FunctionCase, { files, exitCode, results, log, out }: Outcome): void {
  // The catalog's function loses the files of resources, even of the Kptfile, and their indentation; ours keeps both.
  if (each.functions.includes('ensure-name-substring')) expect(documentsOf(files)).toEqual(documentsOf(each.wanted))
  else expect(Object.fromEntries(files)).toEqual(Object.fromEntries(each.wanted))
  expect(exitCode).toBe(each.config.exitCode ?? 0)
  if (each.results !== undefined) expect(results).toEqual(wantedResults(each))
  expect(loggedText(each, log)).toContain(wantedLog(each))
  expect(out).toContain((each.config.stdOut ?? '').trim())
}
