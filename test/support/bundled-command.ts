// Bundles the command once for a run of all tests, which start it some hundred times.
import { copyFileSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundle, programs } from '../../scripts/bundle.ts'

const root = resolve(import.meta.dirname, '../..')

/** Inside node_modules, where the bundle finds the packages outside of it; one path, for the compile cache. */
const folder = join(root, 'node_modules/.cache/fairlead-command')

/** True when the test files of this run were chosen on the command line: most need no command then. */
const isChosen = process.argv.slice(2).some((argument) => /[./]/.test(argument) && !argument.startsWith('-'))

/** Writes the command as it is published, and names its launcher to the tests. */
export async function setup(): Promise<void> {
  if (isChosen || process.env['FAIRLEAD_TEST_LAUNCHER'] !== undefined) return
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'bin'), { recursive: true })
  for (const file of ['package.json', 'bin/fairlead.js', 'bin/fairlead-apiserver.js', 'bin/launch.js', 'bin/etcd.js'])
    copyFileSync(join(root, 'apps/cli', file), join(folder, file))
  symlinkSync(join(root, 'examples'), join(folder, 'examples'))
  await bundle(join(root, 'apps/cli/src/main.ts'), join(folder, 'bundle'), programs)
  process.env['FAIRLEAD_TEST_LAUNCHER'] = join(folder, 'bin/fairlead.js')
}
