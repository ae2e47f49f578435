// Paths and files for which git refuses whole repositories: one draft must not make the others unreadable.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { git, Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start()
  await stage.register('blueprints')
  await stage.create('blueprints', 'web', 'one')
})
afterAll(() => stage[Symbol.asyncDispose]())

const line = (length: number): string => `a ${'x'.repeat(length - 2)}\n`

/** Paths, contents and whether they are accepted. */
const files: readonly (readonly [string, string, boolean])[] = [
  ['.git/config', 'x', false],
  ['.GIT/config', 'x', false],
  ['a/git~1/config', 'x', false],
  ['.git ./config', 'x', false],
  ['.git::$INDEX_ALLOCATION/config', 'x', false],
  ['.g\u200cit/config', 'x', false],
  ['.gitmodules', '[submodule "x"]\n\turl = -u./payload\n\tpath = x\n', false],
  ['a/.GitModules', 'x', false],
  ['gitmod~1', 'x', false],
  ['gi7eba~1', 'x', false],
  ['.gitattributes', line(2048), false],
  ['.gitattributes', line(2047), true],
  ['.gitignore', line(5000), true],
  ['.github/CODEOWNERS', 'x', true],
  ['git~2', 'x', true],
  ['digit', 'x', true],
  ['a.git/config', 'x', true],
]

test.each(files)('stores %j only when git accepts it', async (path, content, isAccepted) => {
  const saved = stage.save('blueprints.web.one', (all) => {
    all[path] = content
  })
  if (isAccepted) await saved
  else await expect(saved).rejects.toMatchObject({ status: { code: 400 } })
  const folder = join(stage.folder, 'data', 'managed', 'team-a', 'blueprints.git')
  git(folder, 'fsck', '--full', '--strict', '--no-dangling')
  expect((await stage.resources('blueprints.web.one')).spec.resources[path]).toBe(isAccepted ? content : undefined)
})
