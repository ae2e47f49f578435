// Templates in ytt, with programs that stand in for it.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { supply } from '@fairlead/supply'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { Stage, conditionsOf, supplyChain, template, thing, workloadOf } from './stage.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'ytt-test-'))))
afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

/** Makes YTT a shell script. */
function program(script: string): void {
  const path = join(folder, 'ytt')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  vi.stubEnv('YTT', path)
}

/** True for a process that has not ended; one that nobody has waited for has. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const path = `/proc/${pid}/stat`
  return !existsSync(path) || !/\) Z /.test(readFileSync(path, 'utf8'))
}

const object = 'apiVersion: test.run/v1\nkind: Thing\nmetadata: {name: app}\nspec: {made: by-ytt}\n'
const objects = [
  template('ClusterTemplate', 'ytt', { ytt: '#@ template' }),
  supplyChain('ytt', 'ytt', [{ name: 'only', templateRef: { kind: 'ClusterTemplate', name: 'ytt' } }]),
]

async function render(...owners: readonly object[]): Promise<string> {
  const path = join(folder, 'all.yaml')
  writeFileSync(path, stringifyYamlDocuments([...objects, ...owners] as never))
  const out: string[] = []
  const command = (await supply.commands!()).find(({ name }) => name === 'render')!
  const print = (line: string): void => void out.push(line)
  await command.run({ arguments: [], options: { filename: [path] }, out: print, err: print } as never)
  return out.join('\n')
}

describe('a template in ytt', () => {
  test('is read from a file that only we can read, and its values of any size from standard input', async () => {
    program(
      `stat -c %a stdin.yml > ${folder}/mode; pwd > ${folder}/folder; cat stdin.yml > ${folder}/template; echo "$*" > ${folder}/arguments; env > ${folder}/environment; cat > ${folder}/values; printf '${object}'`,
    )
    const value = 'x'.repeat(300_000)
    const out = await render(workloadOf('app', 'ytt', { params: [{ name: 'large', value }] }))
    expect(out).toContain('made: by-ytt')
    const written = (name: string): string => readFileSync(join(folder, name), 'utf8').trim()
    expect([written('mode'), written('template'), written('arguments')]).toEqual([
      '600',
      '#@ template',
      '-f stdin.yml --data-values-file -',
    ])
    const values = JSON.parse(written('values')) as { params: object; workload: { metadata: { name: string } } }
    expect([values.params, values.workload.metadata.name]).toEqual([{ large: value }, 'app'])
    expect(written('environment')).not.toContain('xxx')
    expect(existsSync(written('folder'))).toBe(false)
  })

  test('that fails is reported with the error of the program, and one without a program says how to install it', async () => {
    program('echo "ytt: Error: no" >&2; exit 1')
    expect(await render(workloadOf('app', 'ytt'))).toContain('unable to apply ytt template: ytt: Error: no')
    vi.stubEnv('YTT', '')
    vi.stubEnv('PATH', '')
    expect(await render(workloadOf('app', 'ytt'))).toContain(
      'the ytt program is not installed where the controller runs',
    )
  })

  test('with more output than is allowed is ended, with the programs that it started', async () => {
    program(`cat > /dev/null; yes & echo $! > ${folder}/child; wait`)
    expect(await render(workloadOf('app', 'ytt'))).toContain('its output is larger than 8388608 bytes')
    const child = Number(readFileSync(join(folder, 'child'), 'utf8'))
    await until('the program that it started has ended', () => !isRunning(child))
  })
})

describe('in a cluster, a template in ytt', () => {
  let stage: Stage
  beforeEach(async () => void (stage = await Stage.set()))
  afterEach(() => stage[Symbol.asyncDispose]())

  test('is rendered again when the program did not come to its end', async () => {
    program(
      `cat > /dev/null; if [ -e ${folder}/once ]; then printf '${object}'; else touch ${folder}/once; kill -9 $$; fi`,
    )
    await stage.apply(...objects, workloadOf('app', 'ytt'))
    const owner = await stage.owner('team-a/app', ({ status }) => status?.resources?.length === 1)
    const submitted = conditionsOf(owner)['ResourcesSubmitted']
    if (submitted?.[0] !== 'True')
      expect(submitted).toEqual([
        'Unknown',
        'TemplateStampFailure',
        expect.stringContaining('unable to apply ytt template: it was ended by SIGKILL'),
      ])
    await stage.ready('team-a/app', 'True')
  })

  test('is rendered once for equal values, and by few programs at a time', async () => {
    program(
      `cat > /dev/null; mkdir ${folder}/run.$$; ls -d ${folder}/run.* | wc -l >> ${folder}/running; sleep 0.05; rmdir ${folder}/run.$$; echo >> ${folder}/runs; printf '${object}' | sed "s/name: app/generateName: app-/"`,
    )
    const names = Array.from({ length: 20 }, (_, index) => `app-${index}`)
    await stage.apply(...objects, ...names.map((name) => workloadOf(name, 'ytt')))
    for (const name of names) await stage.ready(`team-a/${name}`, 'True')
    const lines = (name: string): string[] => readFileSync(join(folder, name), 'utf8').split('\n')
    const runs = lines('runs').length
    expect(Math.max(...lines('running').map(Number))).toBeLessThanOrEqual(8)
    for (const { metadata } of await stage.things())
      await stage.setStatus(`team-a/${metadata.name}`, { phase: 'changed' })
    await stage.settle()
    expect([runs, lines('runs').length]).toEqual([21, 21])
    expect((await stage.client.list(thing, { namespace: 'team-a' })).items).toHaveLength(20)
  })
})
