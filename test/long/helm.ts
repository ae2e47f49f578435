// Helm installs, upgrades, rolls back and uninstalls a small chart on the embedded server, and Fairlead's own chart.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from '@fairlead/apiserver'
import { CustomResourceDefinition } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { isNotFound } from '@fairlead/kube'
import { Checks } from './checks.ts'

const helmModule = 'helm.sh/helm/v3/cmd/helm@v3.20.2'
const chart = join(import.meta.dirname, 'chart')
const ownChart = join(import.meta.dirname, '../../charts/fairlead')
const installMs = 15 * 60_000

/**
 * The path of the binary that HELM names, `helm` on the PATH, or one built from the Go module into a folder; undefined
 * without all of them.
 */
function findHelm(folder: string): string | undefined {
  const named = process.env['HELM'] ?? 'helm'
  if (spawnSync(named, ['version'], { stdio: 'ignore' }).status === 0) return named
  const built = spawnSync('go', ['install', helmModule], {
    stdio: 'ignore',
    timeout: installMs,
    env: { ...process.env, GOBIN: folder },
  })
  return built.status === 0 ? join(folder, 'helm') : undefined
}

/** Where kinds of the chart are, by their plural. */
const places: Readonly<Record<string, string>> = {
  configmaps: 'v1/ConfigMap',
  services: 'v1/Service',
  serviceaccounts: 'v1/ServiceAccount',
  deployments: 'apps/v1/Deployment',
  roles: 'rbac.authorization.k8s.io/v1/Role',
  rolebindings: 'rbac.authorization.k8s.io/v1/RoleBinding',
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-helm-'))
  const checks = new Checks()
  try {
    const helm = findHelm(folder)
    if (helm === undefined) {
      console.log('helm is not here (HELM names one) and cannot be built: its chart is skipped')
      return
    }
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const { kubeconfig } = await server.listen()
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, kubeconfig, { mode: 0o600 })
    const client = server.client()
    const read = async (place: string, name: string, namespace = 'port'): Promise<KubeObject | undefined> => {
      const at = place.lastIndexOf('/')
      try {
        return await client.get({ apiVersion: place.slice(0, at), kind: place.slice(at + 1) }, { namespace, name })
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw error
      }
    }
    const run = (...args: readonly string[]): Promise<string> =>
      new Promise((resolve) => {
        const child = spawn(helm, args, { env: { ...process.env, HOME: folder, KUBECONFIG: file }, timeout: 120_000 })
        let output = ''
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
        child.on('close', (code) => {
          checks.check(code === 0, `helm ${args.join(' ')} ended with ${code}: ${output}`)
          resolve(output)
        })
      })
    /** The chart's values in the cluster. */
    const stands = async (): Promise<unknown> => {
      const deployment = (await read('apps/v1/Deployment', 'otter')) as
        | { readonly spec?: { readonly replicas?: number } }
        | undefined
      const map = (await read('v1/ConfigMap', 'otter')) as
        | { readonly data?: { readonly greeting?: string } }
        | undefined
      const hook = (await read('v1/ConfigMap', 'otter-before')) as
        | { readonly data?: { readonly revision?: string } }
        | undefined
      return [deployment?.spec?.replicas, map?.data?.greeting, hook?.data?.revision]
    }
    const expectStands = async (step: string, wanted: unknown): Promise<void> => {
      const now = await stands()
      checks.check(
        JSON.stringify(now) === JSON.stringify(wanted),
        `after ${step} there is ${JSON.stringify(now)} instead of ${JSON.stringify(wanted)}`,
      )
    }

    await run('install', 'otter', chart, '--namespace', 'port', '--create-namespace')
    await expectStands('install', [2, 'ahoy', '1'])
    for (const [plural, place] of Object.entries(places))
      checks.check((await read(place, 'otter')) !== undefined, `${plural}/otter is not there`)
    await run('upgrade', 'otter', chart, '--namespace', 'port', '--set', 'replicas=3,greeting=hello')
    await expectStands('upgrade', [3, 'hello', '2'])
    await run('rollback', 'otter', '1', '--namespace', 'port')
    await expectStands('rollback', [2, 'ahoy', '2'])
    const listed = JSON.parse(await run('list', '--namespace', 'port', '-o', 'json')) as readonly {
      readonly name: string
      readonly revision: string
      readonly status: string
    }[]
    checks.check(
      listed.length === 1 && listed[0]?.revision === '3' && listed[0].status === 'deployed',
      `helm lists ${JSON.stringify(listed)}`,
    )
    const history = JSON.parse(await run('history', 'otter', '--namespace', 'port', '-o', 'json')) as readonly unknown[]
    checks.check(history.length === 3, `the history has ${history.length} revisions instead of 3`)
    await run('uninstall', 'otter', '--namespace', 'port', '--wait')
    for (const [plural, place] of Object.entries(places))
      checks.check((await read(place, 'otter')) === undefined, `${plural}/otter is still there`)
    console.log('helm: install, upgrade, rollback, list, history, uninstall of one chart')

    const own = ['fairlead', ownChart, '--namespace', 'fairlead-system']
    const kinds = { deployments: 'apps/v1/Deployment', services: 'v1/Service', serviceaccounts: 'v1/ServiceAccount' }
    const definitions = async (): Promise<number> => (await client.list(CustomResourceDefinition)).items.length
    await run('install', ...own, '--create-namespace')
    await run('upgrade', ...own, '--set', 'capabilities.packages.enabled=false,replicas=2')
    for (const [plural, place] of Object.entries(kinds))
      checks.check((await read(place, 'fairlead', 'fairlead-system')) !== undefined, `${plural}/fairlead is not there`)
    checks.check((await definitions()) === 28, 'an upgrade without packages deleted definitions')
    await run('uninstall', 'fairlead', '--namespace', 'fairlead-system', '--wait')
    for (const [plural, place] of Object.entries(kinds))
      checks.check(
        (await read(place, 'fairlead', 'fairlead-system')) === undefined,
        `${plural}/fairlead is still there`,
      )
    checks.check((await definitions()) === 28, 'the definitions went with the release')
    await run('install', ...own)
    console.log("helm: install, upgrade, uninstall, second install of Fairlead's chart")
    checks.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await main()
