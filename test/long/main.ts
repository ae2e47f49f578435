// `npm run test:long`: everything that does not fit into `npm test`. Each part is a program of its own and says what it
// checked and how often. `npm run test:long -- fuzz 'kill loop'` runs these parts, `-- --list` prints their names.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Checks } from './checks.ts'

const root = join(import.meta.dirname, '..')

interface Part {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a file of `npm test` with a larger count. */
function larger(name: string, file: string, env: Readonly<Record<string, string>>): Part {
  return { name, program: '../node_modules/vitest/vitest.mjs', args: ['run', file, '--testTimeout', '1200000'], env }
}

/** The parts in order: the quick ones first. */
const parts: readonly Part[] = [
  { name: "others' clients", program: 'clients/main.ts', args: [] },
  { name: 'helm', program: 'long/helm.ts', args: [] },
  { name: 'Metacontroller', program: 'long/metacontroller.ts', args: [] },
  { name: 'beside Metacontroller', program: 'long/metacontroller-differential.ts', args: [] },
  { name: "Metacontroller's integration tests", program: 'long/metacontroller-suite.ts', args: [] },
  { name: 'examples of Metacontroller', program: 'long/metacontroller-examples/main.ts', args: [] },
  { name: 'examples on a real API server', program: 'long/run/examples.ts', args: [] },
  { name: 'leaders killed and frozen', program: 'long/run/leader.ts', args: [] },
  { name: 'shards over 10,000 objects', program: 'long/run/shards.ts', args: [] },
  { name: 'upgrade and back', program: 'long/run/upgrade.ts', args: [] },
  { name: 'official suite', program: 'long/official-suite.ts', args: [] },
  { name: 'package updates beside kpt', program: 'long/kpt-updates.ts', args: ['2000'] },
  { name: 'growth', program: 'long/growth.ts', args: [] },
  larger('growth of requests in steps', 'test/growth/growth.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  larger('growth of supply chains in steps', 'capabilities/supply/test/growth.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  larger('growth of packages in steps', 'capabilities/packages/test/growth.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  larger('growth of admission in steps', 'test/growth/capabilities.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  larger('changed bits of the store', 'foundation/apiserver/test/storage/damage.test.ts', {
    FAIRLEAD_CHANGED_BITS: '200',
  }),
  larger('large store', 'foundation/apiserver/test/storage/sqlite.test.ts', {
    FAIRLEAD_STORED_OBJECTS: '100000',
    FAIRLEAD_KILLED_WRITERS: '20',
  }),
  larger('map controllers under faults', 'capabilities/metacontroller/test/faults.test.ts', {
    FAIRLEAD_FAULT_RUNS: '50',
  }),
  larger('kill between publishes', 'capabilities/packages/test/kill.test.ts', { FAIRLEAD_PUBLISHES: '200' }),
  larger('kill in a fan-out of variants', 'capabilities/variants/test/variant-faults.test.ts', {
    FAIRLEAD_VARIANTS: '200',
  }),
  larger('renders beside kpt', 'capabilities/packages/test/render-differential.test.ts', {
    FAIRLEAD_DIFFERENTIAL: '300',
  }),
  larger('commands without a server', 'apps/cli/test/unreachable-server.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  larger('lost responses of AWS', 'capabilities/aws/test/lost-responses.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  larger('kill after creations in AWS', 'capabilities/aws/test/killed.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  larger('AWS resources on moto', 'capabilities/aws/test/moto.test.ts', { FAIRLEAD_MOTO: '1' }),
  larger('shards', 'foundation/controller/test/shards.test.ts', { FAIRLEAD_SHARD_RUNS: '200' }),
  larger('run under faults', 'test/faults/run-faults.test.ts', { FAIRLEAD_ALL_CASES: '1' }),
  { name: 'disruptions', program: 'faults/every-disruption.ts', args: [] },
  { name: 'kill loop', program: 'faults/kill.ts', args: ['20'] },
  {
    name: 'fuzz',
    program: 'fuzz/main.ts',
    args: ['--minutes', '10', '--seed', String(process.env['FUZZ_SEED'] ?? '1')],
  },
  { name: 'churn', program: 'long/churn.ts', args: ['10'] },
]

function run({ program, args, env }: Part): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--conditions=@fairlead/source', join(root, program), ...args], {
      stdio: 'inherit',
      env: { ...process.env, ...env },
    })
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}

/** Returns the parts of these names, all when there are none; the process ends when there is no part of a name. */
function named(names: readonly string[]): readonly Part[] {
  const unknown = names.filter((name) => !parts.some((part) => part.name === name))
  if (unknown.length > 0) {
    console.error(`No part is named ${unknown.map((name) => `"${name}"`).join(', ')}; --list prints the names`)
    process.exit(2)
  }
  return names.length === 0 ? parts : parts.filter(({ name }) => names.includes(name))
}

if (process.argv[2] === '--list') {
  for (const { name } of parts) console.log(name)
  process.exit()
}
const checks = new Checks()
for (const part of named(process.argv.slice(2))) {
  const { name } = part
  const since = performance.now()
  console.log(`== ${name}`)
  const code = await run(part)
  checks.check(code === 0, `${name} ended with ${code}`)
  console.log(`   ${((performance.now() - since) / 1000).toFixed(0)} s`)
}
checks.close()
