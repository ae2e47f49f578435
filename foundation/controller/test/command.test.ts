import { expect, expectTypeOf, test } from 'vitest'
import { command } from '@fairlead/controller/command'
import type { CommandContext } from '@fairlead/controller'

const signal = new AbortController().signal

function context(given: Partial<CommandContext>): CommandContext {
  return {
    arguments: [],
    options: {},
    stdin: () => Promise.resolve(''),
    out: () => {},
    err: () => {},
    client: () => Promise.reject(new Error('there is no cluster')),
    signal,
    ...given,
  }
}

test('command infers the types of options and arguments and passes them by name', async () => {
  const seen: unknown[] = []
  const render = command({
    name: 'render',
    summary: 'Print',
    examples: [],
    arguments: {
      owner: { description: 'TYPE/NAME' },
      kind: { description: 'a kind', optional: true },
      names: { description: 'names', optional: true, variadic: true },
    },
    options: {
      filename: { flags: '-f, --filename <file>', description: 'file', repeatable: true },
      output: { flags: '-o, --output <format>', description: 'format', choices: ['text', 'json'], default: 'text' },
      hook: { flags: '--hook <url>', description: 'address' },
      dryRun: { flags: '--dry-run', description: 'change nothing' },
    },
    run: ({ options, arguments: given, signal: passed }) => {
      expectTypeOf(options).toEqualTypeOf<{
        readonly filename: readonly string[]
        readonly output: 'text' | 'json'
        readonly hook: string | undefined
        readonly dryRun: boolean
      }>()
      expectTypeOf(given).toEqualTypeOf<{
        readonly owner: string
        readonly kind: string | undefined
        readonly names: readonly string[]
      }>()
      seen.push(options, given, passed === signal)
      return Promise.resolve(0)
    },
  })
  await render.run(
    context({
      arguments: ['pod/a', 'Pod', ['b', 'c']],
      options: { filename: ['x'], output: 'json', hook: 'h', dryRun: true },
    }),
  )
  await render.run(context({ arguments: ['pod/a'] }))
  expect(seen).toEqual([
    { filename: ['x'], output: 'json', hook: 'h', dryRun: true },
    { owner: 'pod/a', kind: 'Pod', names: ['b', 'c'] },
    true,
    { filename: [], output: 'text', hook: undefined, dryRun: false },
    { owner: 'pod/a', kind: undefined, names: [] },
    true,
  ])
})

test('command keeps the declaration for the parser, arguments and options in order', () => {
  const { run, ...declared } = command({
    name: 'list',
    summary: 'List',
    examples: ['fairlead list'],
    arguments: { resource: { description: 'TYPE/NAME' } },
    options: { all: { flags: '-a, --all', description: 'all of them' } },
    usesCluster: true,
    run: () => Promise.resolve(3),
  })
  expect(declared).toEqual({
    name: 'list',
    summary: 'List',
    examples: ['fairlead list'],
    arguments: [{ name: 'resource', description: 'TYPE/NAME' }],
    options: [{ flags: '-a, --all', description: 'all of them' }],
    usesCluster: true,
  })
  expect(run).toBeTypeOf('function')
})

test('command without arguments and options returns the exit code of run', async () => {
  const rbac = command({ name: 'rbac', summary: 'Print', examples: [], run: () => Promise.resolve(3) })
  expect(await rbac.run(context({}))).toBe(3)
})

test('command refuses an option that is not named by its long flag', () => {
  expect(() =>
    command({
      name: 'a',
      summary: '',
      examples: [],
      options: { dry: { flags: '--dry-run', description: '' } },
      run: () => Promise.resolve(0),
    }),
  ).toThrow('The option --dry-run must be declared as dryRun')
})
