// The real Metacontroller (METACONTROLLER names its binary) on the embedded server: a composite controller of ours
// makes, changes, restores and leaves to garbage collection the children of a parent. Its definitions are written here
// as far as it needs them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiServer } from '@fairlead/apiserver'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { isNotFound } from '@fairlead/kube'
import { Checks } from './checks.ts'

const group = 'metacontroller.k8s.io'
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const waitMs = 60_000

function definition(of: string, kind: string, version: string, scope: 'Cluster' | 'Namespaced'): KubeObject {
  const plural = `${kind.toLowerCase()}s`
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${of}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, testing-only' } },
    spec: {
      group: of,
      scope,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: free, status: free, parentPatch: free, children: { type: 'array', items: free } },
            },
          },
        },
      ],
    },
  }
}

const definitions = [
  definition(group, 'CompositeController', 'v1alpha1', 'Cluster'),
  definition(group, 'DecoratorController', 'v1alpha1', 'Cluster'),
  definition(group, 'ControllerRevision', 'v1alpha1', 'Namespaced'),
  definition('harbour.example.com', 'Fleet', 'v1', 'Namespaced'),
]
const Fleet = { apiVersion: 'harbour.example.com/v1', kind: 'Fleet' }
const ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap' }

/** The hook: as many config maps as the fleet has ships, each with its flag. */
function sync(parent: KubeObject & { readonly spec?: { readonly ships?: number; readonly flag?: string } }): JsonValue {
  const { ships = 0, flag = '' } = parent.spec ?? {}
  const children = Array.from({ length: ships }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${parent.metadata.name}-${i}` },
    data: { flag },
  }))
  return { status: { ships }, children }
}

async function main(): Promise<void> {
  const binary = process.env['METACONTROLLER']
  if (binary === undefined) {
    console.log('METACONTROLLER names no binary: the real Metacontroller is skipped')
    return
  }
  const checks = new Checks()
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-metacontroller-'))
  let calls = 0
  const hook = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      calls++
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(sync((JSON.parse(body) as { readonly parent: KubeObject }).parent)))
    })
  })
  hook.listen(0, '127.0.0.1')
  await once(hook, 'listening')
  try {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const { kubeconfig } = await server.listen()
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, kubeconfig, { mode: 0o600 })
    const client = server.client()
    for (const object of definitions) await client.create(object)
    const args = [
      '--kubeconfig',
      file,
      '--discovery-interval',
      '1s',
      '--client-go-qps',
      '100',
      '--client-go-burst',
      '100',
      '--metrics-address',
      '127.0.0.1:0',
      '--health-probe-bind-address',
      '127.0.0.1:0',
    ]
    const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)))
    try {
      const flags = async (): Promise<string> => {
        const { items } = await client.list(ConfigMap, { namespace: 'default' })
        return items
          .filter(({ metadata }) => metadata.name?.startsWith('north-'))
          .map(
            (object) =>
              `${object.metadata.name}=${(object as { readonly data?: { readonly flag?: string } }).data?.flag}`,
          )
          .toSorted()
          .join()
      }
      const becomes = async (step: string, wanted: string, read: () => Promise<string> = flags): Promise<void> => {
        const deadline = performance.now() + waitMs
        while ((await read()) !== wanted && performance.now() < deadline && child.exitCode === null) await delay(50)
        const now = await read()
        checks.check(
          now === wanted,
          `${step}: ${now} instead of ${wanted}; it said ${now === wanted ? '' : output.slice(-3_000)}`,
        )
      }
      const { port } = hook.address() as AddressInfo
      await client.create({
        apiVersion: `${group}/v1alpha1`,
        kind: 'CompositeController',
        metadata: { name: 'fleets' },
        spec: {
          generateSelector: true,
          parentResource: { apiVersion: 'harbour.example.com/v1', resource: 'fleets' },
          childResources: [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }],
          hooks: { sync: { webhook: { url: `http://127.0.0.1:${port}/sync` } } },
        },
      })
      const fleet = { namespace: 'default', name: 'north' }
      await client.create({ ...Fleet, metadata: fleet, spec: { ships: 3, flag: 'blue' } })
      await becomes('children are made', 'north-0=blue,north-1=blue,north-2=blue')
      await becomes('its status is set', '3', async () =>
        String(((await client.get(Fleet, fleet)) as { readonly status?: { readonly ships?: number } }).status?.ships),
      )
      await client.patch(Fleet, fleet, { merge: { spec: { flag: 'red' } } })
      await becomes('children are changed', 'north-0=red,north-1=red,north-2=red')
      await client.delete(ConfigMap, { namespace: 'default', name: 'north-1' })
      await becomes('a deleted child comes back', 'north-0=red,north-1=red,north-2=red')
      await client.patch(ConfigMap, { namespace: 'default', name: 'north-2' }, { merge: { data: { flag: 'black' } } })
      await becomes('a changed child is set right', 'north-0=red,north-1=red,north-2=red')
      await client.patch(Fleet, fleet, { merge: { spec: { ships: 1 } } })
      await becomes('children too many go', 'north-0=red')
      await client.delete(Fleet, fleet)
      await becomes('children of a deleted parent go', '')
      await becomes('the parent is gone', 'gone', async () =>
        client.get(Fleet, fleet).then(
          () => 'there',
          (error: unknown) => (isNotFound(error) ? 'gone' : String(error)),
        ),
      )
    } finally {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'close')
    }
    console.log(`Metacontroller: one composite controller, 8 steps, ${calls} hook calls`)
  } finally {
    hook.close()
    rmSync(folder, { recursive: true, force: true })
  }
  checks.close()
}

await main()
