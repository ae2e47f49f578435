import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const sourceCondition = '@fairlead/source'

export default defineConfig({
  ssr: { resolve: { conditions: [sourceCondition, 'node', 'import', 'default'] } },
  resolve: { conditions: [sourceCondition, 'node', 'import', 'default'] },
  test: {
    include: ['{foundation,capabilities,apps}/*/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    pool: 'forks',
    // Most tests wait for something: two at a time also where there are two cores, of which one would be left to the runner.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    execArgv: ['--conditions=' + sourceCondition],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
})
