// Random packages, rendered by the installed kpt and here: the same files, to the letter. `FAIRLEAD_DIFFERENTIAL` is the
// number of packages.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { PackageFiles } from '@fairlead/packages'
import { fileChanges } from '../src/engine/diff/file-changes.ts'
import { readPackageFolder, writeChanges } from '../src/offline/package-folder.ts'
import { patience } from '../../../test/support/until.ts'
import { PackageRenderer } from '../src/runtime/functions/package-renderer.ts'

const version = kptVersion()
const runs = Number(process.env['FAIRLEAD_DIFFERENTIAL'] ?? 8)
const renderer = new PackageRenderer({ workers: 1 })
afterAll(async () => await renderer[Symbol.asyncDispose]())
if (version === undefined) console.log('skipped: renders are not compared with kpt, which is not installed')

test.skipIf(version === undefined)(
  `renders ${runs} random packages as kpt does`,
  { timeout: 3 * patience + runs * 2000 },
  async () => {
    let refused = 0
    await fc.assert(
      fc.asyncProperty(packageFiles, async (files: PackageFiles) => {
        const folder = mkdtempSync(join(tmpdir(), 'fairlead-kpt-'))
        try {
          await writeChanges(folder, fileChanges(new Map(), files))
          const theirs = await promisify(execFile)('kpt', ['fn', 'render', '--allow-exec', folder]).then(
            async () => ({ files: Object.fromEntries(await readPackageFolder(folder, { links: 'skip' })) }),
            (error: unknown) => ({ failed: String((error as { stderr?: unknown }).stderr) }),
          )
          const job = { type: 'render', files, allowExec: true, writesStatus: false } as const
          const ours = await renderer.run(job, { signal: new AbortController().signal })
          if ('failed' in theirs) {
            refused++
            expect(ours.error, theirs.failed).toBeDefined()
          } else expect([ours.error, Object.fromEntries(ours.files)]).toEqual([undefined, theirs.files])
        } finally {
          rmSync(folder, { recursive: true })
        }
      }),
      { numRuns: runs, endOnFailure: true, seed: Number(process.env['FAIRLEAD_SEED'] ?? 7) },
    )
    if (runs > 100) console.log(`${runs} packages, ${refused} of them refused by both, no file differs`)
  },
)

function kptVersion(): string | undefined {
  try {
    return execFileSync('kpt', ['version'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

const word = fc.constantFrom('foo', 'web', 'cache', 'a-b', 'x1')
const strings = [
  'foo',
  '"foo bar"',
  "'1'",
  '"yes"',
  '"a: b"',
  'http://foo/x?y=1#z',
  '"multi\\nline"',
  '""',
  'a#b',
  '"-"',
]
const others = ['12', 'true', 'null', '~', '1.50', '0x1f', '"# no comment"', '2026-11-22', '1e3', 'on']
const plain = fc.constantFrom(...strings, ...others)
const comment = fc.option(fc.constantFrom('# why', '#tight', '# kpt-set: ${name}', '# a # b'), { nil: '', freq: 2 })

const behind = (text: string): string => (text === '' ? '' : ` ${text}`)
const above = (text: string, indent: string): string => (text === '' ? '' : `${indent}${text}\n`)

const entry = fc.tuple(word, plain, comment, comment)
const list = fc.record({
  wide: fc.boolean(),
  flow: fc.boolean(),
  items: fc.array(fc.tuple(plain, comment), { minLength: 1, maxLength: 3 }),
  note: comment,
})

const resource = fc
  .record({
    kind: fc.constantFrom('ConfigMap', 'Foo'),
    name: word,
    header: comment,
    data: fc.uniqueArray(entry, { selector: ([key]) => key, maxLength: 4 }),
    list: fc.option(list),
    // Folded scalars differ by a rule of ours: kpt writes them between double quotes once a function saw them.
    literal: fc.option(fc.constantFrom('|', '|-')),
  })
  .map(({ kind, name, header, data, list: values, literal }) => {
    const lines = data.map(([key, text, line, head]) => `${above(head, '  ')}  ${key}: ${text}${behind(line)}\n`)
    const rows = values === null ? '' : listText(values)
    const block = literal === null ? '' : `script: ${literal}\n  first foo\n  second\n`
    return `${above(header, '')}apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${lines.length > 0 ? `data:\n${lines.join('')}` : ''}${rows}${block}`
  })

function listText({
  wide,
  flow,
  items,
  note,
}: {
  wide: boolean
  flow: boolean
  items: [string, string][]
  note: string
}): string {
  const simple = items.map(([text]) => text).filter((text) => !/[,#?:]/.test(text))
  if (flow) return `args: [${simple.join(', ')}]${behind(note)}\n`
  const indent = wide ? '  ' : ''
  return `args:${behind(note)}\n${items.map(([text, line]) => `${indent}- ${text}${behind(line)}\n`).join('')}`
}

const resourceFile = fc.array(resource, { minLength: 1, maxLength: 3 }).map((documents) => documents.join('---\n'))

const pipeline = fc.constantFrom(
  '',
  'pipeline:\n  mutators:\n    - exec: cat\n',
  'pipeline:\n  mutators:\n    - exec: sed -e s/foo/bar/\n',
  'pipeline:\n  mutators:\n    - exec: sed -e s/foo/bar/\n      selectors:\n        - kind: Foo\n',
  'pipeline:\n  mutators:\n    - exec: sed -e s/web/shop/\n      exclude:\n        - name: foo\n  validators:\n    - exec: cat\n',
)

const kptfile = pipeline.map((text) => `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n${text}`)

const packageFiles = fc
  .record({
    root: kptfile,
    files: fc.dictionary(fc.constantFrom('a.yaml', 'b.yml', 'dir/c.yaml'), resourceFile, { minKeys: 1 }),
    sub: fc.option(fc.record({ kptfile, file: resourceFile })),
    readme: fc.boolean(),
  })
  .map(({ root, files, sub, readme }) => {
    const entries: [string, string][] = [['Kptfile', root], ...Object.entries(files)]
    if (sub !== null) entries.push(['sub/Kptfile', sub.kptfile], ['sub/d.yaml', sub.file])
    if (readme) entries.push(['README.md', '# foo\n'])
    return new Map<string, string | Uint8Array>(entries)
  })
