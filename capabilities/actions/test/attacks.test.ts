import {
  InputError,
  PatternError,
  PatternResolver,
  Sandbox,
  SnippetError,
  lintActionMap,
  mergedForm,
  parseActionMap,
  parseMapping,
  targetOf,
} from '@fairlead/actions'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { afterAll, describe, expect, test } from 'vitest'
import { catalog, commandsOf, kam, map, merged, trader } from './objects.ts'

const sandbox = new Sandbox()
afterAll(() => sandbox[Symbol.asyncDispose]())

const command = (pattern: string, more: JsonObject = {}): JsonObject => ({
  'cmd-actions': [{ name: 'a', image: 'i', 'cmd-pattern': pattern, 'requires-input': 'f' }],
  inputs: { f: { fields: { x: { type: 'string' }, ...more } } },
})

describe('an input of a user', () => {
  test.each([
    'a b',
    '"',
    'a" --evil "b',
    "'; rm -rf / #",
    '$(reboot)',
    '`id`',
    '${func.kubectlGet(secrets,-A,-o,json)}',
    '$$',
    '~20',
    'line\nbreak',
    '\\',
  ])('stays one argument: %j', async (value) => {
    expect(
      await commandsOf(command('run --spec ${input.x} "quoted ${input.x}" end'), 'a', { x: value }, sandbox.run),
    ).toEqual([['run', '--spec', value, `quoted ${value}`, 'end']])
  })

  test.each(['a b', ';reboot', '$(reboot)', '`id`', 'a|b', 'a>b', "'", '"', 'a\nb', '*', '~'])(
    'never becomes part of a shell script: %j',
    async (value) => {
      const planned = commandsOf(command('/bin/sh -ec "echo ${input.x}"'), 'a', { x: value }, sandbox.run)
      await expect(planned).rejects.toThrow(PatternError)
      expect(await commandsOf(command('/bin/sh -ec "echo $$1" sh ${input.x}'), 'a', { x: value }, sandbox.run)).toEqual(
        [['/bin/sh', '-ec', 'echo $1', 'sh', value]],
      )
    },
  )

  test.each([
    'sh -c -- "echo ${input.x}"',
    'bash -Ec "echo ${input.x}"',
    'sh -cx "echo ${input.x}"',
    'bash -c -e "echo ${input.x}"',
    'bash -e -o pipefail -c "echo ${input.x}"',
    'bash -c -o pipefail "echo ${input.x}"',
    'bash -ceuo pipefail "echo ${input.x}"',
    'busybox sh -c "echo ${input.x}"',
    '${var.shell} -c "echo ${input.x}"',
    'sh -c ${input.x}',
    'env -S "sh -c ${input.x}"',
    'env FOO=bar sh -c "echo ${input.x}"',
    'python3 -c "print(1) # ${input.x}"',
    'perl -ne "print ${input.x}"',
    'node --eval "f(${input.x})"',
    'node --eval=${input.x}',
    'awk ${input.x} file',
    'ssh host "uptime ${input.x}"',
    'su -c "run ${input.x}" user',
    'psql -c "select ${input.x}"',
    'kubectl exec web -- /bin/sh -c "echo ${input.x}"',
    'unknown --run "a; b ${input.x}"',
  ])('never becomes part of code: %s', async (pattern) => {
    const data = { ...command(pattern), variables: { shell: 'bash' } }
    for (const value of ['$(reboot)', 'a;b', '`id`', 'a b&c'])
      await expect(commandsOf(data, 'a', { x: value }, sandbox.run)).rejects.toThrow(PatternError)
    await expect(commandsOf(data, 'a', { x: 'plain' }, sandbox.run)).resolves.toHaveLength(1)
  })

  test.each(['kubectl delete pod ${input.x}', 'echo ${input.x}b', 'run ${input.x} -- y'])(
    'never becomes an option: %s',
    async (pattern) => {
      await expect(commandsOf(command(pattern), 'a', { x: '--all' }, sandbox.run)).rejects.toThrow('begins with "-"')
    },
  )

  test('may begin with "-" after "--", or as the value of an option', async () => {
    expect(await commandsOf(command('run --x=${input.x} -- ${input.x}'), 'a', { x: '-1' }, sandbox.run)).toEqual([
      ['run', '--x=-1', '--', '-1'],
    ])
  })

  test('that no program can be started with is refused', async () => {
    await expect(commandsOf(command('run ${input.x}'), 'a', { x: 'a\u0000b' }, sandbox.run)).rejects.toThrow(InputError)
    for (const value of ['x'.repeat(131_072), 'é'.repeat(65_536)])
      await expect(commandsOf(command('run ${input.x}'), 'a', { x: value }, sandbox.run)).rejects.toMatchObject({
        code: 'TooLarge',
      })
    const optional = { x: { type: 'string', optional: true } }
    await expect(commandsOf(command('${input.x}', optional), 'a', { x: '' }, sandbox.run)).rejects.toThrow('empty')
  })

  test('is substituted in a shell script when it is a plain word', async () => {
    expect(
      await commandsOf(command('sh -c "set-level ${input.x}"'), 'a', { x: 'com.example=debug' }, sandbox.run),
    ).toEqual([['sh', '-c', 'set-level com.example=debug']])
  })

  test('cannot select pods by containing the pod token', async () => {
    expect(await commandsOf(command('run ${input.x} y'), 'a', { x: 'path:podName:string' }, sandbox.run)).toEqual([
      ['run', 'path:podName:string', 'y'],
    ])
  })

  test.each([['__proto__'], ['constructor'], ['toString'], ['hasOwnProperty']])(
    'is not a field only because JavaScript objects inherit it: %s',
    async (name) => {
      const body = JSON.parse(`{"x": "1", ${JSON.stringify(name)}: "2"}`) as JsonObject
      await expect(commandsOf(command('run ${input.x}'), 'a', body, sandbox.run)).rejects.toThrow(InputError)
      await expect(commandsOf(command(`run \${input.${name}}`), 'a', { x: '1' }, sandbox.run)).rejects.toThrow(
        PatternError,
      )
    },
  )
})

describe('a value of a resource', () => {
  test('is substituted verbatim and never resolved as a pattern', async () => {
    const set = merged(map('m', {}))
    const resource = {
      ...trader,
      metadata: { ...trader.metadata, annotations: { evil: '${func.kubectlGet(secrets,-A,-o,json)} ~41 $$' } },
    } as unknown as JsonObject
    const resolver = new PatternResolver({
      resource,
      merged: set,
      globalMap: async () => undefined,
      inputs: {},
      runSnippet: async () => 'ran',
      callFunction: async () => {
        throw new Error('called')
      },
    })
    expect(await resolver.resolve("x${resource.$.metadata.annotations['evil']}y")).toEqual({
      value: 'x${func.kubectlGet(secrets,-A,-o,json)} ~41 $$y',
    })
    await expect(resolver.resolve('${resource.$.__proto__}')).rejects.toThrow(PatternError)
    await expect(resolver.resolve('${resource.$.metadata.constructor.name}')).rejects.toThrow(PatternError)
  })
})

describe('a pattern', () => {
  test('that grows exponentially fails with TooLarge', async () => {
    const variables = Object.fromEntries(
      Array.from({ length: 40 }, (_value, index) => [`v${index}`, `\${var.v${index + 1}}\${var.v${index + 1}}`]),
    )
    const set = merged(map('m', { variables: { ...variables, v40: 'ha' } }))
    const resolver = new PatternResolver({
      resource: {},
      merged: set,
      globalMap: async () => undefined,
      inputs: {},
      runSnippet: sandbox.run,
      callFunction: async () => '',
    })
    await expect(resolver.resolve('${var.v0}')).rejects.toMatchObject({ code: 'TooLarge' })
  })

  test('with a cycle of variables fails with Cycle, or gives the default', async () => {
    const set = merged(map('m', { variables: { a: '${var.b}', b: '${var.a}' } }))
    const resolver = new PatternResolver({
      resource: {},
      merged: set,
      globalMap: async () => undefined,
      inputs: {},
      runSnippet: sandbox.run,
      callFunction: async () => '',
    })
    await expect(resolver.resolve('${var.a}')).rejects.toMatchObject({ code: 'Cycle' })
    expect(await resolver.resolve('${var.a,default.x}${var.a,default.y}')).toEqual({ value: 'xy' })
  })

  test('with a thousand nested arguments is invalid', async () => {
    const set = merged(map('m', {}))
    const resolver = new PatternResolver({
      resource: {},
      merged: set,
      globalMap: async () => undefined,
      inputs: {},
      runSnippet: sandbox.run,
      callFunction: async () => '',
    })
    await expect(resolver.resolve(`${'${func.f('.repeat(1000)}a${')}'.repeat(1000)}`)).rejects.toMatchObject({
      code: 'InvalidPattern',
    })
  })
})

describe('a snippet', () => {
  test.each([
    ['loops', 'function f() { while (true); }', /50 ms/],
    ['loops and catches', 'function f() { for (;;) { try { for (;;); } catch (e) {} } }', /50 ms/],
    ['loops while it is loaded', 'function f() {} while (true);', /50 ms/],
    [
      'loops without calling the interrupt handler',
      'function f() { return [].lastIndexOf.call({length: 9007199254740991}, 1); }',
      /50 ms/,
    ],
    ['backtracks forever', 'function f() { return /(a+)+b/.test(new Array(40).join("a")); }', /50 ms/],
    ['loops in toString', 'function f() { return {toString: function () { while (true); }}; }', /50 ms/],
    [
      'allocates without end',
      'function f() { var a = []; for (;;) a.push(new Array(100000).join("x")); }',
      /memory|50 ms/,
    ],
    ['allocates at once', 'function f() { return new Array(1 << 28).join("xxxxxxxx"); }', /memory|50 ms/],
    ['recurses without end', 'function f() { return f(); }', /stack/],
    ['throws', 'function f() { throw new Error("no"); }', /no/],
    ['returns nothing', 'function f() {}', /nothing/],
    ['has no function declaration', 'var f = () => 1', /function name/],
    ['does not parse', 'function f( {', /SyntaxError/],
  ])('that %s fails, and the next one runs', async (_what, source, message) => {
    await expect(sandbox.run(source, [])).rejects.toThrow(message)
    await expect(sandbox.run(source, [])).rejects.toThrow(SnippetError)
    expect(await sandbox.run('function after() { return "fine"; }', [])).toBe('fine')
  })

  test('has no access to Node or to browser APIs', async () => {
    const names = [
      'process',
      'require',
      'module',
      'fetch',
      'XMLHttpRequest',
      'setTimeout',
      'console',
      'WebAssembly',
      'Worker',
      'Java',
      'std',
      'os',
      'print',
      'postMessage',
      'parentPort',
      'Buffer',
    ]
    expect(
      await sandbox.run(`function f() { return [${names.map((name) => `typeof ${name}`).join(',')}].join(); }`, []),
    ).toBe(names.map(() => 'undefined').join())
    expect(
      await sandbox.run(
        'function f() { return (function () { return typeof this.constructor.constructor("return this")().process; })(); }',
        [],
      ),
    ).toBe('undefined')
    await expect(sandbox.run('function f() { return import("node:fs"); }', [])).resolves.toBe('[object Promise]')
  })

  test('leaves no global state for the next one', async () => {
    await sandbox.run('function f() { globalThis.left = 1; Object.prototype.left = 2; String = null; return "x"; }', [])
    expect(await sandbox.run('function f() { return typeof left + typeof ({}).left + typeof String; }', [])).toBe(
      'undefinedundefinedfunction',
    )
  })

  test('takes its arguments as strings', async () => {
    expect(
      await sandbox.run('function f(a, b) { return a + "|" + b + "|" + typeof a; }', [
        '");throw 1;("',
        '\u0000\ud83d\ude00',
      ]),
    ).toBe('");throw 1;("|\u0000\ud83d\ude00|string')
  })
})

describe('an action map', () => {
  test('with 200,000 arguments of a function is refused, and does not overflow the stack', async () => {
    const data = command(`run \${snippet.s(${'a,'.repeat(200_000)}a)}`)
    await expect(commandsOf(data, 'a', { x: '1' }, sandbox.run)).rejects.toBeInstanceOf(PatternError)
    expect(lintActionMap(map('m', data))).toEqual([expect.objectContaining({ code: 'UnknownReference' })])
  })

  test('with __proto__ as key does not change prototypes', () => {
    const data = {
      'url-actions': '[{"name": "__proto__", "url-pattern": "x", "__proto__": {"polluted": 1}}]',
      variables: '{"__proto__": {"polluted": "1"}, "constructor": "c"}',
      snippets: '{__proto__: "function f(){return 1}"}',
    }
    const set = merged(map('m', data), map('n', { variables: '{"__proto__": "late", "a": "b"}' }))
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.keys(set.parts.variables)).toEqual(['__proto__', 'constructor', 'a'])
    expect(Object.keys(set.parts.snippets)).toEqual(['__proto__'])
    expect(JSON.stringify(mergedForm(set)['variables'])).toBe(
      '{"__proto__":{"polluted":"1"},"constructor":"c","a":"b"}',
    )
  })

  test('of 5 MB is ignored with a problem, and other maps are used', () => {
    const huge = map('kappnav.actions.deployment', {
      'url-actions': `[{"name": "x", "text": "${'x'.repeat(5_000_000)}"}]`,
    })
    expect(parseActionMap(huge)).toMatchObject({
      actions: { 'url-actions': [] },
      problems: [{ code: 'MapTooLarge', field: 'data' }],
    })
    const found = catalog(
      [
        kam('k', [
          { apiVersion: '*/*', kind: '*', mapname: 'kappnav.actions.deployment' },
          { apiVersion: '*/*', kind: '*', mapname: 'small' },
        ]),
      ],
      [huge, map('small', { 'url-actions': [{ name: 'ok' }] })],
    ).resolve(trader)
    expect(found.merged.actions.map(({ name }) => name)).toEqual(['ok'])
  })

  test.each([
    ['deep nesting', `${'['.repeat(100_000)}`],
    ['a comment without its end', '/* '],
    ['no closing quote', '["a'],
    ['a lone backslash', '["\\'],
    ['text after it', '[] []'],
    ['a trailing comma in an object', '[{"name": "a",}]'],
    ['nothing at all', ''],
    ['a number out of range', '[{"name": "a", "weight": 1e999}]'],
    ['a number out of range without quotes', '[{name: a, weight: -1e999}]'],
  ])('with %s has a problem for that key, and its other keys are used', (_what, text) => {
    const parsed = parseActionMap(
      map('m', { 'url-actions': text, 'cmd-actions': [{ name: 'ok', image: 'i', 'cmd-pattern': 'x' }] }),
    )
    expect(parsed.problems.map(({ code, field }) => [code, field])).toEqual([['InvalidJson', 'data.url-actions']])
    expect(parsed.actions['cmd-actions'].map(({ name }) => name)).toEqual(['ok'])
  })

  test('with data that are not strings has problems, and does not throw', () => {
    const broken = {
      metadata: { name: 'm', namespace: 'n' },
      data: { 'url-actions': 5, inputs: ['x'], variables: null },
    }
    expect(parseActionMap(broken).problems.map(({ code, field }) => [code, field])).toEqual([
      ['InvalidMap', 'data.url-actions'],
      ['InvalidMap', 'data.inputs'],
    ])
    expect(lintActionMap({ metadata: {}, data: 'no' })).toEqual([])
  })
})

describe('a catalog of 10,000 rules', () => {
  test('returns the candidates of all rules in order', () => {
    const rules = Array.from({ length: 10_000 }, (_value, index) => ({
      apiVersion: '*/*',
      kind: index % 2 === 0 ? '*' : 'Deployment',
      mapname: `m${index}`,
    }))
    const all = catalog(
      Array.from({ length: 10 }, (_value, index) => kam(`k${index}`, rules.slice(index * 1000, (index + 1) * 1000))),
      [],
    )
    const { candidates } = all.candidates(targetOf(trader))
    expect(candidates.length).toBe(10_000)
    expect(candidates.slice(0, 2).map(({ name }) => name)).toEqual(['m1', 'm3'])
    expect(candidates.slice(5000, 5002).map(({ name }) => name)).toEqual(['m0', 'm2'])
  })

  test('of one invalid mapping does not affect other mappings', () => {
    const wrong = kam(
      'wrong',
      Array.from(
        { length: 10_000 },
        (_value, index) =>
          [
            null,
            5,
            'x',
            {},
            { apiVersion: 1, kind: {}, mapname: [] },
            { apiVersion: '*/*', kind: '*', mapname: '${nope}' },
          ][index % 6]! as JsonValue,
      ),
    )
    expect(parseMapping(wrong).problems.length).toBeGreaterThan(10_000)
    expect(
      catalog([wrong, kam('right', [{ apiVersion: '*/*', kind: '*', mapname: 'm' }])], [])
        .candidates(targetOf(trader))
        .candidates.map(({ name }) => name),
    ).toEqual(['m'])
  })
})
