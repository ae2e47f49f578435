// Second half of `npm run build`: what packages carry besides compiled code. The command's package gets a bundle of
// itself, and the examples with their modules as JavaScript, because Node strips no types inside node_modules.
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { bundle, programs } from './bundle.ts'

const root = resolve(import.meta.dirname, '..')
const target = join(root, 'apps/cli/examples')

rmSync(target, { recursive: true, force: true })
const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((path) => basename(path) === 'example.yaml' && !path.includes('node_modules'))
  .map(dirname)
for (const name of examples) {
  const source = join(root, 'examples', name)
  cpSync(source, join(target, name), { recursive: true, filter: (path) => !path.endsWith('.ts') })
  for (const file of readdirSync(source).filter((entry) => entry.endsWith('.ts') && !entry.endsWith('.test.ts'))) {
    const text = stripTypeScriptTypes(readFileSync(join(source, file), 'utf8'))
    writeFileSync(join(target, name, file.replace(/\.ts$/, '.js')), text)
  }
}

await bundle(join(root, 'apps/cli/src/main.ts'), join(root, 'apps/cli/bundle'), programs)
