// The lines that .ci/run prints of the log of a step that failed.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const program = fileURLToPath(new URL('../../.ci/failures.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'fairlead-ci-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns the lines that the program prints of a log. */
function printed(log: string, ...options: string[]): string[] {
  const file = join(folder, 'step.log')
  writeFileSync(file, log)
  return execFileSync(process.execPath, [program, ...options, file], { encoding: 'utf8' })
    .split('\n')
    .slice(0, -1)
}

/** Returns the log of a run of tests, each failure with an error of so many lines. */
function vitestLog(failures: number, lines: number): string {
  const passed = Array.from({ length: 300 }, (_, n) => ` ✓ foundation/kube/test/file-${n}.test.ts (3 tests) 5ms`)
  const failed = Array.from({ length: failures }, (_, n) => [
    ` FAIL  a.test.ts > case ${n}`,
    ...Array.from({ length: lines }, (_, line) => `  error ${n}, line ${line}`),
    `⎯⎯⎯⎯[${n + 1}/${failures}]⎯`,
  ])
  return [
    ...passed,
    '',
    `⎯⎯⎯⎯⎯⎯⎯ Failed Tests ${failures} ⎯⎯⎯⎯⎯⎯⎯`,
    '',
    ...failed.flat(),
    ` Test Files  1 failed | 300 passed (301)`,
    `      Tests  ${failures} failed | 900 passed (${900 + failures})`,
    '   Duration  10.00s',
  ].join('\n')
}

test('the failed tests with their errors come first, without the tests that passed', () => {
  expect(printed(vitestLog(1, 2))).toEqual([
    ' Test Files  1 failed | 300 passed (301)',
    '      Tests  1 failed | 900 passed (901)',
    '⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯',
    ' FAIL  a.test.ts > case 0',
    '  error 0, line 0',
    '  error 0, line 1',
    ' Test Files  1 failed | 300 passed (301)',
    '      Tests  1 failed | 900 passed (901)',
  ])
})

test('every one of several failures has its share of 60 lines', () => {
  const lines = printed(vitestLog(5, 100))
  expect(lines.length).toBeLessThanOrEqual(60)
  expect(lines.filter((line) => line.includes('FAIL'))).toHaveLength(5)
})

test('the names of failed tests are printed once each', () => {
  const log = vitestLog(2, 1)
  expect(printed(`${log}\n${log}`, '--names')).toEqual(['FAIL  a.test.ts > case 0', 'FAIL  a.test.ts > case 1'])
})

test('of another program the lines that name an error are printed before the end of its log', () => {
  const log = ['scripts/a.ts:1: error: no such type', ...Array.from({ length: 200 }, (_, n) => `line ${n}`)].join('\n')
  const lines = printed(log)
  expect([lines[0], lines.at(-1), lines.length]).toEqual(['scripts/a.ts:1: error: no such type', 'line 199', 60])
})
