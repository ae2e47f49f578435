import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'

/** `FAIRLEAD_TEST_BUILT=1` tests what was built: Node 22 runs no sources, because V8 has no `using` there. */
const sources = process.env['FAIRLEAD_TEST_BUILT'] ? [] : ['@fairlead/source']
const include = ['{foundation,capabilities,apps}/*/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts']
/** Tests that count the steps of the whole process, which must do nothing else. */
const counting = ['**/growth.test.ts']

export default defineConfig({
  ssr: { resolve: { conditions: [...sources, 'node', 'import', 'default'] } },
  resolve: { conditions: [...sources, 'node', 'import', 'default'] },
  test: {
    pool: 'forks',
    // Most tests wait for something, and on a machine that does much else more processes get a larger share of it.
    maxWorkers: Math.max(4, availableParallelism()),
    execArgv: [
      ...sources.map((condition) => `--conditions=${condition}`),
      // Node 24 crashes now and then where threads that use WebAssembly come and go, as the threads do that load sources:
      // V8 frees a wrapper of an import whose page it does not know (nodejs/node#64500). Without tier-up it frees none.
      '--wasm-wrapper-tiering-budget=2147483647',
    ],
    // A line for each file: failures are not lost among the names of tests that took half a second.
    slowTestThreshold: 10_000,
    // Only a test that fails takes so long. No test asserts how fast something is; that is for `npm run bench`.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    env: { FAIRLEAD_WAIT_TIMEOUT: '90000' },
    expect: { poll: { timeout: 90_000 } },
    // What a test replaced is there again for the next one, which may be in another file of the same process.
    restoreMocks: true,
    globalSetup: [join(import.meta.dirname, 'test/support/bundled-command.ts')],
    projects: [
      // Starting a process and loading the sources takes longer than most files: a process runs many of them. They have
      // no state in common but what they leave behind in modules and in `process`.
      {
        extends: true,
        test: { name: 'shared', include, exclude: [...configDefaults.exclude, ...counting], isolate: false },
      },
      {
        extends: true,
        test: { name: 'alone', include: counting.map((glob) => `{foundation,capabilities,test}/${glob}`) },
      },
    ],
  },
})
