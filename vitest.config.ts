import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** `FAIRLEAD_TEST_BUILT=1` tests what was built: Node 22 runs no sources, because V8 has no `using` there. */
const isBuilt = process.env['FAIRLEAD_TEST_BUILT'] !== undefined
const sources = isBuilt ? [] : ['@fairlead/source']
const include = ['{foundation,capabilities,apps}/*/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts']
/** Tests that count the steps of the whole process, which must do nothing else. */
const counting = ['**/growth.test.ts']

/**
 * Where the files are that start git some thousand times. A fork copies the page tables of the worker: 2 ms for a young
 * one, and 38 ms for one with 450 MB outside of V8's heap, which the tests of large requests and packages leave behind.
 */
const forking = /\/capabilities\/(packages|variants)\//

/**
 * Where the files are that take longest, a minute or more with two processors. A new clone knows no durations and begins
 * with the largest files, and these are small: begun last, they kept one process busy when the others had ended.
 */
const longest = /\/test\/(docs|faults|conformance|e2e)\/|\/apps\/cli\/|\/examples\/|-faults\.test\.ts$/

/** Begins with the files that fork, then those that take longest. */
class ForkingThenLongest extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification): number =>
      forking.test(moduleId) ? 0 : longest.test(moduleId) ? 1 : 2
    return sorted.toSorted((left, right) => rank(left) - rank(right))
  }
}

// With large pages there are fewer to copy, and fewer page faults. Only glibc reads it.
process.env['GLIBC_TUNABLES'] ??= 'glibc.malloc.hugetlb=1'

export default defineConfig({
  ssr: { resolve: { conditions: [...sources, 'node', 'import', 'default'] } },
  resolve: { conditions: [...sources, 'node', 'import', 'default'] },
  test: {
    pool: 'forks',
    // Node loads the sources as it does outside of tests. No test mocks a module, which is what Vite's own loader is for;
    // that one also turns the `using` of the tests into what Node 22 knows.
    experimental: { viteModuleRunner: isBuilt, nodeLoader: false },
    sequence: { sequencer: ForkingThenLongest },
    // Most tests wait for something, and on a machine that does much else more processes get a larger share of it.
    maxWorkers: Math.max(4, availableParallelism()),
    execArgv: [
      ...sources.map((condition) => `--conditions=${condition}`),
      // Node 24 crashes now and then where threads that use WebAssembly come and go, as the threads do that load sources:
      // V8 frees a wrapper of an import whose page it does not know (nodejs/node#64500). Without tier-up it frees none.
      '--wasm-wrapper-tiering-budget=2147483647',
      // What one test leaves behind is garbage for the next; fewer, larger collections cost less.
      '--max-semi-space-size=64',
    ],
    // A line for each file: failures are not lost among the names of tests that took half a second.
    slowTestThreshold: 10_000,
    // Only a test that fails takes so long. No test asserts how fast something is; that is for `npm run bench`.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Processes that load the sources, workers among them, keep what they compiled: 0.3 s of a processor in place of 0.9.
    // The git of a test is not that of the developer, whose configuration may sign commits or refuse bare repositories.
    env: {
      FAIRLEAD_WAIT_TIMEOUT: '90000',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/fairlead-compile'),
    },
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
        test: {
          name: 'alone',
          include: counting.map((glob) => `{foundation,capabilities,test}/${glob}`),
          // V8 counts the blocks of functions only that it compiled itself.
          env: { NODE_DISABLE_COMPILE_CACHE: '1' },
        },
      },
    ],
  },
})
