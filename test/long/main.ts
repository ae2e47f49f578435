// `npm run test:long`: everything that does not fit into `npm test`. Each part is a program of its own and says what it
// checked and how often.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Checks } from './checks.ts'

const root = join(import.meta.dirname, '..')

/** The parts in order: the quick ones first. */
const parts: readonly { readonly name: string; readonly program: string; readonly args: readonly string[] }[] = [
  { name: "others' clients", program: 'clients/main.ts', args: [] },
  { name: 'helm', program: 'long/helm.ts', args: [] },
  { name: 'Metacontroller', program: 'long/metacontroller.ts', args: [] },
  { name: 'official suite', program: 'long/official-suite.ts', args: [] },
  { name: 'package updates beside kpt', program: 'long/kpt-updates.ts', args: ['2000'] },
  { name: 'growth', program: 'long/growth.ts', args: [] },
  { name: 'disruptions', program: 'faults/every-disruption.ts', args: [] },
  { name: 'kill loop', program: 'faults/kill.ts', args: ['20'] },
  {
    name: 'fuzz',
    program: 'fuzz/main.ts',
    args: ['--minutes', '10', '--seed', String(process.env['FUZZ_SEED'] ?? '1')],
  },
  { name: 'churn', program: 'long/churn.ts', args: ['10'] },
]

function run(program: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--conditions=@fairlead/source', join(root, program), ...args], {
      stdio: 'inherit',
    })
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}

const checks = new Checks()
for (const { name, program, args } of parts) {
  const since = performance.now()
  console.log(`== ${name}`)
  const code = await run(program, args)
  checks.check(code === 0, `${name} ended with ${code}`)
  console.log(`   ${((performance.now() - since) / 1000).toFixed(0)} s`)
}
checks.close()
