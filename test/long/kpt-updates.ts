// `node test/long/kpt-updates.ts [COUNT] [SEED] [FROM] [TO]`: updates random packages with the installed kpt and with
// ours, all or those of a range. Every difference must have one of the named rules as its reason.
import { compareUpdates, kptVersion } from '../../capabilities/packages/test/kpt-comparison.ts'
import { countRules } from '../../capabilities/packages/test/kpt-rules.ts'
import { Checks } from './checks.ts'

const [count = 2000, seed = 1, from = 0, to = count] = process.argv.slice(2).map(Number)
const version = kptVersion()
if (version === undefined) {
  console.log('skipped: package updates beside kpt: kpt is not installed')
  process.exit(0)
}
const checks = new Checks()
const differences = compareUpdates(count, seed, [from, to])
const { counts, unexplained } = countRules(differences)
console.log(`kpt ${version}: ${to - from} packages of ${count}, seed ${seed}: ${differences.length} files differ`)
for (const [rule, found] of Object.entries(counts)) console.log(`   ${String(found).padStart(6)}  ${rule}`)
for (const difference of unexplained) console.log(JSON.stringify(difference, undefined, 1))
checks.check(unexplained.length === 0, `${unexplained.length} differences have no rule`)
checks.close()
