// `fairlead supply test` on folders in the format of cartotest.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stringifyYaml } from '@fairlead/kube'
import { supply } from '@fairlead/supply'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { chain, git, imageTemplate, thing, workloadOf } from './stage.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'cartotest-'))))
afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

function write(name: string, value: object | string): void {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof value === 'string' ? value : stringifyYaml(value))
}

/** Returns the printed lines. */
async function run(): Promise<string[]> {
  const out: string[] = []
  const command = (await supply.commands!()).find(({ name }) => name === 'test')!
  const print = (line: string): void => void out.push(line)
  await command.run({ arguments: [folder], options: {}, out: print, err: print } as never)
  return out
}

const info = (more: object): object => ({ compareOptions: { ignoreMetadata: true }, ...more })
const expected = { ...thing, metadata: {}, spec: { from: 'https://example.test/app@main' } }
const outputs = { source: { url: 'https://example.test/app', revision: 'main' } }

function writeTest(name: string, more: object): void {
  write(`${name}/template.yaml`, imageTemplate)
  write(`${name}/workload.yaml`, workloadOf('app', 'web', git))
  write(`${name}/expected.yaml`, expected)
  write(`${name}/info.yaml`, info(more))
}

test('outputs of sources are nested or flat, and paths of supply chains may be folders', async () => {
  write('chains/chain.yaml', chain)
  const given = (previous: object): object => ({
    given: { supplyChain: { paths: ['../chains'], previousOutputs: { source: previous } } },
  })
  writeTest('flat', given(outputs.source))
  writeTest('nested', given(outputs))
  expect(await run()).toEqual(['passed  flat', 'passed  nested', '2 passed, 0 failed'])
})

test('only tests with focus run if there are any', async () => {
  const given = { mockSupplyChain: { blueprintInputs: { sources: { source: outputs.source } } } }
  writeTest('a', { given, focus: true })
  writeTest('b', { given })
  expect(await run()).toEqual(['passed  a', '1 passed, 0 failed'])
})

test('a template and a supply chain that are ytt templates are rendered with their values', async () => {
  write('ytt', '#!/bin/sh\nif [ "$1 $2" = "--ignore-unknown-comments -f" ]; then sed "s/KIND/$(cat "$5")/" "$3"; fi\n')
  chmodSync(join(folder, 'ytt'), 0o755)
  writeTest('a', {
    given: { template: { yttPath: 'values.yaml' }, supplyChain: { previousOutputs: { source: outputs } } },
  })
  write('a/values.yaml', 'Thing')
  write('a/template.yaml', stringifyYaml(imageTemplate).replace('kind: Thing', 'kind: KIND'))
  write('a/supply-chain.yaml', stringifyYaml(chain).replace('kind: ClusterSupplyChain', 'kind: ClusterSupplyKIND'))
  write('a/supply-chain-ytt-values.yaml', 'Chain')
  vi.stubEnv('YTT', '')
  vi.stubEnv('PATH', join(folder, 'nothing'))
  expect((await run()).at(-1)).toBe('0 passed, 0 failed, 1 skipped')
  vi.unstubAllEnvs()
  vi.stubEnv('YTT', join(folder, 'ytt'))
  expect(await run()).toEqual(['passed  a', '1 passed, 0 failed'])
})

test('an unknown field of info.yaml is an error', async () => {
  writeTest('a', { template: 'template.yaml' })
  await expect(run()).rejects.toThrow(/info\.yaml:1: unknown field template; there are metadata, focus, given/)
})
