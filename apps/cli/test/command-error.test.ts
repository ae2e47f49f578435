// Errors of capabilities' commands, as the launcher prints them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fairlead, withFolder } from './support/command.ts'

test('a CommandError that a command throws is printed with file and line and gives its exit code', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'objects.yaml')
    writeFileSync(file, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: ConfigMap\n')
    const failed = {
      code: 1,
      stdout: '',
      stderr: `fairlead: ${file}:5: apiVersion is missing; every object needs apiVersion and kind\n`,
    }
    expect(await fairlead(['map', 'render', '-f', file])).toEqual(failed)
    expect(await fairlead(['supply', 'render', '-f', file])).toEqual(failed)
    expect(await fairlead(['actions', 'why', '-f', file])).toEqual(failed)
  })
})

test('a path that does not exist is a usage error that says what to do', async () => {
  expect(await fairlead(['map', 'rbac', '-f', 'absent.yaml'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'fairlead: absent.yaml: there is no such file or folder; check the path, or write - for standard input\n',
  })
})

test('a value that is not among the choices of an option is a usage error', async () => {
  const { code, stderr } = await fairlead(['map', 'render', '-f', 'objects.yaml', '-o', 'xml'])
  expect(code).toBe(2)
  expect(stderr).toContain(
    "'xml' is invalid. Allowed choices are text, yaml, json.\nSee fairlead metacontroller render --help.",
  )
})
