// The command in a clone that was never built: every thread runs the sources.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { sourceLauncher } from '../../../test/support/launcher.ts'
import { fairlead, withFolder } from './support/command.ts'

/** Makes a module that comes from a built workspace package an error, in every thread that loads it. */
const refuseBuilt = `import { registerHooks } from 'node:module'
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    if (/\\/(foundation|capabilities|apps)\\/[^/]+\\/dist\\//.test(resolved.url)) throw new Error('built: ' + resolved.url)
    return resolved
  },
})
`

test('a package is rendered from the sources, in the worker thread too', () =>
  withFolder(async (folder) => {
    const hook = join(folder, 'hook.mjs')
    await writeFile(hook, refuseBuilt)
    await mkdir(join(folder, 'web'))
    await writeFile(
      join(folder, 'web/Kptfile'),
      'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n    - image: set-namespace\n      configMap: {namespace: shop}\n',
    )
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(hook).href}` }
    const { code, stderr } = await fairlead(['pkg', 'render', 'web'], { cwd: folder, env, launcher: sourceLauncher })
    expect(stderr).toContain('Successfully executed 1 function(s) in 1 package(s).')
    expect(code).toBe(0)
  }))
