// `fairlead simulate` in a process of its own, against the embedded server over HTTPS.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ApiServer } from '@fairlead/apiserver'
import { Deployment } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { crd } from '../../../test/support/crd.ts'
import { launcher } from '../../../test/support/launcher.ts'
import { until } from '../../../test/support/until.ts'
import { fairlead, withFolder } from './support/command.ts'

const rules = `
- name: deployments become available
  apiVersion: apps/v1
  kind: Deployment
  status: {replicas: $(.spec.replicas), readyReplicas: $(.spec.replicas)}
- apiVersion: example.com/v1
  kind: Widget
  status: {phase: Made}
`
const Widget = { apiVersion: 'example.com/v1', kind: 'Widget' }

function deployment(name: string): KubeObject {
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name, image: 'nginx:1' }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: { replicas: 2, selector: { matchLabels: { app: name } }, template },
  } as KubeObject
}

test('sets the status of objects in a cluster until a signal, also of a kind that is defined later', () =>
  withFolder(async (folder) => {
    await using server = await ApiServer.start()
    const { kubeconfig } = await server.listen()
    const [file, configuration] = [join(folder, 'rules.yaml'), join(folder, 'kubeconfig')]
    await Promise.all([writeFile(file, rules), writeFile(configuration, kubeconfig)])
    const child = spawn(process.execPath, [launcher, 'simulate', file, '--kubeconfig', configuration], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, KUBECONFIG: '/dev/null' },
    })
    const messages: unknown[] = []
    createInterface({ input: child.stderr }).on('line', (line) => {
      const { level, msg, kind } = JSON.parse(line) as Readonly<Record<string, unknown>>
      messages.push([level, msg, kind])
    })
    const ended = once(child, 'close')
    const client = server.client()
    await client.create(deployment('web'))
    await client.waitFor(Deployment, 'default/web', ({ status }) => status?.readyReplicas === 2)
    await installDefinitions(client, [crd({ group: 'example.com', kind: 'Widget', status: true })])
    await client.create({ ...Widget, metadata: { name: 'one', namespace: 'default' } })
    await until('the widget is made', async () => {
      const { status } = (await client.get(Widget, 'default/one')) as { status?: { phase?: string } }
      return status?.phase === 'Made'
    })
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(messages).toContainEqual([
      'warn',
      'The cluster does not serve a kind; its rules wait until it does',
      'Widget of example.com/v1',
    ])
  }))

test.each([
  ['rules-that-are-not-there.yaml', undefined, /^fairlead: simulate \S+ there is no such file/],
  ['rules.yaml', '[]', /^fairlead: simulate \S+ there is no rule in it/],
  ['rules.yaml', '- apiVersion: v1\n  kind: Pod\n  statu: {}\n', /^fairlead: .*rules\.yaml:3.*statu/],
])('simulate %s is a usage error', (name, text, message) =>
  withFolder(async (folder) => {
    const file = join(folder, name)
    if (text !== undefined) await writeFile(file, text)
    expect(await fairlead(['simulate', file])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(message) as string,
    })
  }),
)
