// Modules that `fairlead up` loads before it is ready: what only a use of a capability needs is loaded with that use.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sourceLauncher } from '../../../test/support/launcher.ts'
import { fairlead, withFolder } from './support/command.ts'

/** Returns a module that appends the URL of every module that a process loads to a file. */
function witness(file: string): string {
  const source = `import { registerHooks } from 'node:module'
import { appendFileSync } from 'node:fs'
registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(file)}, url + '\\n'); return next(url, context) } })`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

/** The SDK and the fake of AWS with the shapes of its services, the generator, and commands. */
const late =
  /\/node_modules\/@(aws-sdk|smithy)\/|\/aws\/src\/(fake|services)\/|\/service-models\.ts|\/references\/src\/generator\/|\/capabilities\/\w+\/src\/commands\//

test('up loads neither the AWS SDK nor the fake AWS, the generator or commands before they are used', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'loaded')
    const env = { NODE_OPTIONS: `--import=${witness(file)}` }
    const { code, stderr } = await fairlead(['up', '--in-memory', '--port', '0', '--', 'true'], {
      cwd: folder,
      env,
      launcher: sourceLauncher,
    })
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Fairlead is ready /) as string })
    const loaded = readFileSync(file, 'utf8').trim().split('\n')
    expect(loaded.some((url) => url.includes('/capabilities/aws/src/capability.ts'))).toBe(true)
    expect(loaded.filter((url) => late.test(url))).toEqual([])
  }))
