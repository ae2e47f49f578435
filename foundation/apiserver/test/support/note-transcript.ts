// A session of kubectl 1.33 with notes, the same for every server.
import { expect } from 'vitest'
import type { Kubectl } from '../../../../test/support/kubectl.ts'

/** Runs the session. Leaves no note behind. */
export async function playNotes(kubectl: Kubectl): Promise<void> {
  const run = async (args: string, stdin?: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await kubectl.run(args.split(' '), stdin)
    if (exitCode !== 0) throw new Error(`kubectl ${args}: ${stderr}`)
    return stdout
  }
  const yaml = (text: string): string =>
    `apiVersion: notes.example.com/v1\nkind: Note\nmetadata: {name: k, namespace: default}\nspec: {text: ${text}}\n`
  const name = 'note.notes.example.com/k'

  expect(await run('api-resources --api-group=notes.example.com --no-headers')).toMatch(
    /^notes +nt +notes.example.com\/v1 +true +Note\n$/,
  )
  expect(await run('explain note.spec.text')).toContain('The words.')

  expect(await run('apply -f -', yaml('one'))).toBe(`${name} created\n`)
  expect(await run('apply -f -', yaml('two'))).toBe(`${name} configured\n`)
  expect(await run('apply -f -', yaml('two'))).toBe(`${name} unchanged\n`)
  await expect(run('apply -f -', yaml('one').replace('text', 'words'))).rejects.toThrow('unknown field "spec.words"')
  expect(await run('patch note k --type=merge --field-manager=other -p {"spec":{"text":"other"}}')).toBe(
    `${name} patched\n`,
  )
  await expect(run('apply --server-side -f -', yaml('three'))).rejects.toThrow('conflict with "other"')
  const serverSide = 'apply --server-side --force-conflicts -f -'
  expect(await run(`${serverSide} --dry-run=server`, yaml('four'))).toBe(
    `${name} serverside-applied (server dry run)\n`,
  )
  expect(await run(serverSide, yaml('three'))).toBe(`${name} serverside-applied\n`)

  expect(await run('get nt')).toBe('NAME   TEXT\nk      three\n')
  expect(await run('get notes k -o yaml')).toContain('spec:\n  copies: 1\n  text: three\n')

  const rows = (stdout: string): string[][] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(/ +/))
  let isWatched = true
  const watching = kubectl
    .watch(['get', 'notes', '-w', '--output-watch-events', '--no-headers'], (stdout) => rows(stdout).length > 2)
    .finally(() => (isWatched = false))
  let copies = 1
  while (isWatched) expect(await run(`scale note/k --replicas=${++copies}`)).toBe(`${name} scaled\n`)
  const events = rows(await watching)
  expect(events[0]).toEqual(['ADDED', 'k', 'three'])
  expect(new Set(events.slice(1).map((cells) => cells.join(' ')))).toEqual(new Set(['MODIFIED k three']))
  expect(await run('get note k -o jsonpath={.spec.copies}')).toBe(String(copies))

  expect(await run('delete note k')).toBe('note.notes.example.com "k" deleted\n')
  expect(await run('get notes -o name')).toBe('')
}
