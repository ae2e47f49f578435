// What shells are told to offer, by the command itself and through the scripts of the shells that are installed.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { connect } from '@fairlead/client'
import { UpProcess } from '../../../test/faults/up-process.ts'
import { launcher } from '../../../test/support/launcher.ts'
import { fairlead, withFolder } from './support/command.ts'

/** The candidates without descriptions, and what else the shell may offer. */
async function offered(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await fairlead(['__complete', '--', ...words])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0] as string)
}

test.each([
  [['u'], ['up', 'uninstall', ':']],
  [['zz'], [':']],
  [
    ['map', ''],
    ['render', 'test', 'record', 'drift', 'sync', 'rbac', 'help', ':'],
  ],
  [
    ['map', 'render', '--ho'],
    ['--hook', ':'],
  ],
  [['map', 'render', '-f', ''], [':files']],
  [
    ['map', 'render', '-f', 'a.yaml', '-o', ''],
    ['text', 'yaml', 'json', ':'],
  ],
  [
    ['map', 'render', '--output=j'],
    ['--output=json', ':'],
  ],
  [['up', '--data', 'x'], [':folders']],
  [
    ['up', '--only', 'map,s'],
    ['map,supply', ':'],
  ],
  [
    ['up', '--example', 'snap'],
    ['snapshot-schedule', ':'],
  ],
  [['restore', 'x'], [':files']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish', 'powershell', ':'],
  ],
  [['actions', 'list', '-n', ''], [':']],
])('%j is followed by %j', async (words, expected) => {
  expect(await offered(...words)).toEqual(expected)
})

test('completes names from the cluster', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, ['--only', 'metacontroller'])
    try {
      const at = ['actions', 'list', '--kubeconfig', up.kubeconfig]
      expect(await offered(...at, '-n', 'kube-s')).toEqual(['kube-system', ':'])
      expect(await offered(...at, 'serviceacc')).toEqual(['serviceaccount/', ':'])
      expect(await offered(...at, '-n', 'kube-system', 'serviceaccounts/d')).toEqual(['serviceaccounts/default', ':'])
      expect(await offered(...at, 'mapc')).toEqual(['mapcontroller/', ':'])
      expect(await offered(...at, 'event')).toEqual(['event/', ':'])
      expect(await offered(...at, '--context', '')).toEqual(['fairlead', ':'])
    } finally {
      await up.stop()
    }
  }))

test('completes the actions of a resource', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, ['--only', 'actions'])
    try {
      const client = await connect({ file: up.kubeconfig })
      const labels = { app: 'web' }
      const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
      await client.create({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'default' },
        spec: { selector: { matchLabels: labels }, template },
      })
      await client.transport[Symbol.asyncDispose]()
      const at = ['actions', 'run', '--kubeconfig', up.kubeconfig, 'deployment/web']
      expect(await offered(...at, 're')).toEqual(['restart', ':'])
      expect(await offered(...at, 'restart', '')).toEqual([':'])
      expect(await offered(...at.with(-1, 'deployment/none'), '')).toEqual([':'])
    } finally {
      await up.stop()
    }
  }))

test('prints a script for every shell, and lists the shells for an unknown one', async () => {
  for (const shell of ['bash', 'zsh', 'fish', 'powershell'])
    expect((await fairlead(['completion', shell])).stdout).toContain('__complete --')
  expect(await fairlead(['completion', 'tcsh'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'fairlead: there is no completion for tcsh; there is for bash, zsh, fish, powershell\n',
  })
})

const installed = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

describe.skipIf(!installed('bash'))('bash', () => {
  /** What the script offers for a line, the cursor at its end. */
  async function completed(line: string): Promise<string[]> {
    let found: string[] = []
    await withFolder(async (folder) => {
      const bin = join(folder, 'bin')
      mkdirSync(bin)
      writeFileSync(join(bin, 'fairlead'), `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`)
      chmodSync(join(bin, 'fairlead'), 0o755)
      writeFileSync(join(folder, 'here.yaml'), '')
      const { stdout } = await fairlead(['completion', 'bash'])
      const breaks = /[\s=:]+/
      const words = line.split(breaks)
      const script = [
        stdout,
        `COMP_LINE=${JSON.stringify(line)} COMP_POINT=${line.length}`,
        `COMP_WORDS=(${words.map((word) => JSON.stringify(word)).join(' ')}) COMP_CWORD=${words.length - 1}`,
        '_fairlead; printf "%s\\n" "${COMPREPLY[@]}"',
      ].join('\n')
      const result = spawnSync('bash', ['-c', script], {
        cwd: folder,
        env: { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}`, KUBECONFIG: '/dev/null' },
      })
      found = result.stdout.toString().trimEnd().split('\n')
    })
    return found
  }

  test.each([
    ['fairlead me', ['metacontroller']],
    ['fairlead map render --', ['--filename', '--hook', '--resolve', '--output', '--help']],
    ['fairlead map render --output=j', ['json']],
    ['fairlead map render -f h', ['here.yaml']],
    ['fairlead up --only metacontroller,ac', ['metacontroller,actions']],
  ])('%s', async (line, expected) => {
    expect(await completed(line)).toEqual(expected)
  })
})
