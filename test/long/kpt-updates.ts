// `node test/long/kpt-updates.ts [COUNT] [SEED]`: updates random packages with the installed kpt and with ours. Every
// difference must have one of the named rules as its reason.
import { compareUpdates, kptVersion } from '../../capabilities/packages/test/kpt-comparison.ts'
import { countRules } from '../../capabilities/packages/test/kpt-rules.ts'
import { Checks } from './checks.ts'

const [count = 2000, seed = 1] = process.argv.slice(2).map(Number)
const version = kptVersion()
if (version === undefined) {
  console.log('skipped: package updates beside kpt: kpt is not installed')
  process.exit(0)
}
const checks = new Checks()
const differences = compareUpdates(count, seed)
const { counts, unexplained } = countRules(differences)
console.log(`kpt ${version}: ${count} packages, seed ${seed}: ${differences.length} files differ`)
for (const [rule, found] of Object.entries(counts)) console.log(`   ${String(found).padStart(6)}  ${rule}`)
for (const difference of unexplained) console.log(JSON.stringify(difference, undefined, 1))
checks.check(unexplained.length === 0, `${unexplained.length} differences have no rule`)
checks.close()
