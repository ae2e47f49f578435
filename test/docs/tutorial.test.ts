// Every command of the tutorials and how-to guides, in order, as their readers type them.
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launcher } from '../support/launcher.ts'
import { missingTool, Reader, root } from './reader.ts'
import { isAsShown, stepsOf } from './tutorial.ts'
import { freePort } from '../support/free-port.ts'

const pages = ['docs/tutorial', 'docs/how-to']
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
  .map((page) => ({ page, text: readFileSync(join(root, page), 'utf8') }))
  .filter(({ text }) => stepsOf(text).some((step) => step.do !== 'save'))
const missing = missingTool()
if (missing !== undefined) console.log(`${missing} is not here: the tutorials are not followed`)

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
/** Where the page says `npm start`: the same, but in the reader's folder and on a free port. */
const start = scripts['start']!.replace('apps/cli/bin/fairlead.js', `'${launcher}'`)
const commands = {
  // The packages are run from their sources.
  node: `exec '${process.execPath}' --conditions=@fairlead/source "$@"`,
  npm: `[ "$1" = install ] && exit 0\n[ "$1" = start ] && exec ${start} --port 0\nexit 1`,
  npx: `command=$1; shift\n[ "$command" = fairlead ] && exec node '${launcher}' "$@"\nexec '${root}'/node_modules/.bin/$command "$@"`,
}

test.skipIf(missing !== undefined).each(pages)(
  '$page goes as it says',
  async ({ text }) => {
    const port = String(await freePort())
    const steps = stepsOf(text.replaceAll('8765', port))
    await using reader = new Reader(commands)
    for (const name of ['node_modules', 'vitest.config.ts', 'package.json', 'tsconfig.base.json'])
      symlinkSync(join(root, name), join(reader.folder, name))
    mkdirSync(join(reader.folder, 'examples'))
    symlinkSync(join(root, 'examples/database-host'), join(reader.folder, 'examples/database-host'))
    for (const step of steps) await reader.take(step)
  },
  300_000,
)

test('the tutorials and what can be typed of the guides is among them', () => {
  expect(pages.map(({ page }) => page)).toEqual(
    expect.arrayContaining(['docs/tutorial/first-steps.md', 'docs/tutorial/operator.md', 'docs/how-to/backup.md']),
  )
})

test.each([
  ['a  b', 'a b', true],
  ['a   b\nc', 'a b', false],
  ['a 12 b', 'a … b', true],
  ['head\nx\ny\ntail', 'head\n…\ntail', true],
  ['head\nx', 'head\ny', false],
  ['a.c', 'a.c', true],
  ['abc', 'a.c', false],
])('%j is what %j shows: %s', (actual, shown, expected) => {
  expect(isAsShown(actual, shown)).toBe(expected)
})
