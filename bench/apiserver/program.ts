// The program that is measured, in the form in which it is measured: sources as they are, or bundled as the command is
// published.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundle } from '../../scripts/bundle.ts'

/** The form of the server: sources by type stripping, or the output of `npm run build`. */
export type Form = 'source' | 'built'

const root = resolve(import.meta.dirname, '../..')
const built = join(root, 'bench/.tmp')
const imports = { '#journal-worker': './journal-worker.js', '#snippet-worker': './snippet-worker.js' }

let server: Promise<string> | undefined
let command: Promise<string> | undefined

/** The module that serves; built once per run. */
export async function serverModule(form: Form): Promise<string> {
  const source = join(import.meta.dirname, 'server.js')
  if (form === 'source') return source
  server ??= (async () => {
    const folder = join(built, 'server')
    await bundle(source, folder)
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', imports }))
    return join(folder, 'main.js')
  })()
  return server
}

/** The launcher of the command: in the repository, or in a folder that holds what is published. */
export async function commandModule(form: Form): Promise<string> {
  const cli = join(root, 'apps/cli')
  if (form === 'source') return join(cli, 'bin/fairlead.js')
  command ??= (async () => {
    const folder = join(built, 'fairlead')
    mkdirSync(folder, { recursive: true })
    for (const part of ['bin', 'package.json']) cpSync(join(cli, part), join(folder, part), { recursive: true })
    await bundle(join(cli, 'src/main.ts'), join(folder, 'bundle'))
    return join(folder, 'bin/fairlead.js')
  })()
  return command
}
