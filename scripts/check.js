// `npm run check`: everything that can be said of the sources without running them. Runs all of it and then says what
// failed.
import { spawnSync } from 'node:child_process'

const checks = [
  ['types', 'tsc', ['-b']],
  ['types of tests', 'tsc', ['-p', 'tsconfig.test.json']],
  ['lint', 'oxlint', ['--type-aware', '--quiet']],
  ['format', 'oxfmt', ['--check', '.']],
  ['unused code', 'knip', ['--no-progress']],
  ['generated files', 'node', ['--conditions=@fairlead/source', 'scripts/generate.ts', '--check']],
  ['words', 'node', ['scripts/check-words.js']],
  ['import arrows', 'vitest', ['run', 'test/architecture']],
]
const failed = checks.filter(([name, tool, args]) => {
  console.log(`\n== ${String(name)}`)
  return spawnSync(tool, args, { stdio: 'inherit', shell: process.platform === 'win32' }).status !== 0
})
console.log(failed.length === 0 ? '\nAll checks passed.' : `\nFailed: ${failed.map(([name]) => name).join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)
