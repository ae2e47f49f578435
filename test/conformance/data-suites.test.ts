// Guards of the suites over conformance data: `.ci/run` finds them by describeData, and no test reads the data past it.
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

const testFiles = ['foundation', 'capabilities', 'apps', 'examples', 'test']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  )
  .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules') && file !== import.meta.filename)

function filesWith(pattern: RegExp): string[] {
  return testFiles.filter((file) => pattern.test(readFileSync(file, 'utf8'))).map((file) => relative(root, file))
}

test('all sixteen suites over conformance data are declared with describeData', () => {
  expect(filesWith(/\bdescribeData\(/).length).toBeGreaterThanOrEqual(16)
})

test('no test looks for conformance data by itself', () => {
  expect(filesWith(/FAIRLEAD_SHARED/)).toEqual([])
})
