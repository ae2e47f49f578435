// `fairlead doctor` against servers that lack something, and against none.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiServer } from '@fairlead/apiserver'
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { checkClock } from '../src/doctor/server-check.ts'
import { fairlead, withFolder } from './support/command.ts'

interface Line {
  readonly status: string
  readonly check: string
  readonly message: string
}

async function examined(kubeconfig: string, ...args: string[]): Promise<{ code: number | null; lines: Line[] }> {
  const { code, stdout, stderr } = await fairlead(['doctor', '-o', 'json', '--kubeconfig', kubeconfig, ...args])
  expect(stderr).toBe('')
  return { code, lines: (JSON.parse(stdout) as Line[]).filter(({ check }) => check !== 'command' && check !== 'git') }
}

const statuses = (lines: readonly Line[]): string[] => lines.map(({ status, check }) => `${status} ${check}`)

test('finds what an installation lacks, and says what to do', () =>
  withFolder(async (folder) => {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const { kubeconfig } = await server.listen()
    const file = join(folder, 'kubeconfig')
    await writeFile(file, kubeconfig)
    const client = server.client()

    const nothing = await examined(file, '--only', 'map')
    // Schemas of supply have empty fields, which the server drops.
    const printed = await fairlead(['install', '--only', 'supply'])
    for (const object of parseYamlDocuments(printed.stdout) as unknown as KubeObject[])
      if (object.kind === 'CustomResourceDefinition') await client.apply(object, { manager: 'test', force: true })
    const { lines: supply } = await examined(file, '--only', 'supply')
    expect(supply).toContainEqual({
      status: 'ok',
      check: 'definitions of supply',
      message: 'all 12 are those of this version',
    })

    expect(statuses(nothing.lines)).toEqual(['ok cluster', 'ok clock', 'warn definitions of metacontroller'])
    expect(nothing.code).toBe(0)

    const { stdout } = await fairlead(['install', '--only', 'map', '--image', 'fairlead:1'])
    const objects = parseYamlDocuments(stdout) as unknown as KubeObject[]
    for (const object of objects) await client.apply(object, { manager: 'test', force: true })
    const installed = await examined(file, '--only', 'map')
    expect(statuses(installed.lines)).toEqual([
      'ok cluster',
      'ok clock',
      'fail pods',
      'fail webhooks',
      'ok definitions of metacontroller',
      'ok rights of metacontroller',
    ])
    expect(installed.code).toBe(1)

    for (const suffix of ['', '-own'])
      await client.delete(
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
        `fairlead-metacontroller${suffix}`,
      )
    await client.delete(
      { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      'controllerrevisions.metacontroller.k8s.io',
    )
    const { lines } = await examined(file, '--only', 'map')
    expect(lines.slice(-2)).toEqual([
      {
        status: 'fail',
        check: 'definitions of metacontroller',
        message:
          'missing: controllerrevisions.metacontroller.k8s.io; fairlead install --only metacontroller | kubectl apply -f -',
      },
      {
        status: 'fail',
        check: 'rights of metacontroller',
        message: expect.stringMatching(
          /^service account fairlead-system\/fairlead has not: get mapcontrollers\.metacontroller\.k8s\.io, .* and \d+ more; fairlead install --only metacontroller prints the roles$/,
        ) as string,
      },
    ])
  }))

test('says that no server answers', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'kubeconfig')
    const server = await ApiServer.start()
    const { kubeconfig } = await server.listen()
    await server[Symbol.asyncDispose]()
    await writeFile(file, kubeconfig)
    const { code, lines } = await examined(file)
    expect(code).toBe(1)
    expect(statuses(lines)).toEqual(['fail cluster'])
    expect(lines[0]?.message).toMatch(/was refused - did you specify/)
  }))

test.each([
  ['Thu, 01 Jan 2026 00:00:00 GMT', 0, 'ok'],
  ['Thu, 01 Jan 2026 00:00:00 GMT', 4_000, 'ok'],
  ['Thu, 01 Jan 2026 00:00:00 GMT', 20_000, 'warn'],
  ['Thu, 01 Jan 2026 00:00:00 GMT', -20_000, 'warn'],
  ['Thu, 01 Jan 2026 00:00:00 GMT', 120_000, 'fail'],
  [undefined, 0, 'warn'],
])('a Date of %s, asked for %d ms later, is %s', (date, later, status) => {
  const asked = Date.parse('2026-01-01T00:00:00Z') + later
  expect(checkClock(date, asked, asked + 100).status).toBe(status)
})
