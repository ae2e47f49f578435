import { defineConfig } from 'vitest/config'

const sourceCondition = '@fairlead/source'

export default defineConfig({
  ssr: { resolve: { conditions: [sourceCondition, 'node', 'import', 'default'] } },
  resolve: { conditions: [sourceCondition, 'node', 'import', 'default'] },
  test: {
    include: ['{foundation,capabilities,apps}/*/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    pool: 'forks',
    execArgv: ['--conditions=' + sourceCondition],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
})
