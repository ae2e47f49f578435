// `prepack` and `postpack` of every package: builds it, copies LICENSE and NOTICE beside its manifest, and refuses to
// pack when an entry point was not built. `npm pack` and `npm publish` run it in the package's folder; `--clean`
// removes the copies.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const folder = process.cwd()
const legal = ['LICENSE', 'NOTICE']

if (process.argv.includes('--clean')) {
  for (const name of legal) rmSync(join(folder, name), { force: true })
  process.exit(0)
}

const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
run('tsc', ['-b', folder])
if (manifest.files.includes('bundle')) run('node', [join(root, 'scripts/build-assets.ts')])
removeOrphans()
for (const name of legal) copyFileSync(join(root, name), join(folder, name))

const missing = targets({ exports: manifest.exports, imports: manifest.imports, bin: manifest.bin }).filter(
  (path) => !existsSync(join(folder, path)),
)
if (missing.length > 0) {
  console.error(`${manifest.name} cannot be packed, these entry points were not built: ${missing.join(', ')}`)
  process.exit(1)
}

/** Runs a tool of the workspace; its output goes to standard error, because that of `npm pack --json` is parsed. */
function run(tool, args) {
  const { status } = spawnSync(tool, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  if (status !== 0) process.exit(1)
}

/** Removes the output of sources that were renamed or deleted: the compiler leaves it. */
function removeOrphans() {
  for (const path of readdirSync(join(folder, 'dist'), { recursive: true })) {
    const source = /^(.*?)\.(?:d\.ts|js)(?:\.map)?$/.exec(path)?.[1]
    if (source !== undefined && !existsSync(join(folder, 'src', `${source}.ts`))) rmSync(join(folder, 'dist', path))
  }
}

/** Returns the files that a manifest names, those of the sources' own condition excepted. */
function targets(value) {
  if (typeof value === 'string') return [value]
  return Object.entries(value ?? {}).flatMap(([key, inner]) => (key === '@fairlead/source' ? [] : targets(inner)))
}
