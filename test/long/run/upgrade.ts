// Replicas of an earlier version of `fairlead run` are replaced by this one under load, and back, each time after the
// manifests that the version prints: a leader and two that wait, then three that share shards. On a real API server
// where KUBE_APISERVER and ETCD name one, and on ours.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ApiServer, kubeconfigText } from '@fairlead/apiserver'
import { connect, parseKubeconfig } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import { asJson, asObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { DerivedWork } from '../../support/derived-work.ts'
import { earlierVersion } from '../../support/earlier-version.ts'
import { sourceLauncher } from '../../support/launcher.ts'
import { RealCluster, missingBinaries } from '../../support/real-cluster.ts'
import { Replica } from '../../support/replica.ts'
import { ready, replaceEach } from '../../support/rolling-replacement.ts'
import { RunProcess } from '../../support/run-process.ts'
import { Checks } from '../checks.ts'

const count = 3
const only = ['--only', 'metacontroller,supply']
/** Milliseconds of work before, between and after the replacements. */
const work = 5000
/** Milliseconds until a replica that does not stop is killed, as a kubelet does: earlier versions may need it. */
const grace = 30_000
/** Flags of the replicas; those of the command line when there are some. */
const modes = process.argv.length > 2 ? [process.argv.slice(2)] : [[], ['--shards', '6']]
const namespace = 'fairlead-system'
const account = 'fairlead'

/** Kinds that processes of this machine do not replace. */
const applied = new Set([
  'CustomResourceDefinition',
  'Namespace',
  'ServiceAccount',
  'Role',
  'RoleBinding',
  'ClusterRole',
  'ClusterRoleBinding',
])

interface Version {
  readonly name: string
  readonly launcher: string
}

interface Server extends AsyncDisposable {
  readonly name: string
  readonly admin: Client
  readonly url: string
  readonly ca: string
}

const checks = new Checks()
const unpacked = earlierVersion('apps/cli/src/run/resource-host.ts')
if (typeof unpacked === 'string') console.log(`Skipped: ${unpacked}`)
else {
  using earlier = unpacked
  const versions = {
    before: { name: earlier.commit, launcher: earlier.launcher },
    after: { name: 'this version', launcher: sourceLauncher },
  }
  if (missingBinaries !== undefined) console.log(`The real API server is skipped: ${missingBinaries}`)
  for (const open of missingBinaries === undefined ? [embedded, real] : [embedded])
    for (const flags of modes) {
      await using server = await open()
      await upgradeAndBack(server, versions, flags)
    }
}
checks.close()

async function upgradeAndBack(
  server: Server,
  { before, after }: { readonly before: Version; readonly after: Version },
  flags: readonly string[],
): Promise<void> {
  const what = `${server.name}, ${flags.join(' ') || 'leader election'}`
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-upgrade-'))
  const kubeconfig = join(folder, 'kubeconfig')
  const { admin } = server
  const start = ({ launcher }: Version): Promise<Replica> =>
    Replica.start(() =>
      RunProcess.start(['--kubeconfig', kubeconfig, ...only, '--webhooks=false', ...flags], { launcher }),
    )
  let replicas: Replica[] = []
  const reportRestarts = ({ restarts }: Replica): void => {
    if (restarts.length > 0)
      console.log(`  ${what}: a replica was started again after it ended with ${restarts.join()}`)
  }
  try {
    await install(admin, before)
    writeFileSync(kubeconfig, await accountKubeconfig(server))
    await using derived = await DerivedWork.begin(admin, 24)
    for (let index = 0; index < count; index++) replicas.push(await start(before))
    await Promise.all(replicas.map(ready))
    derived.startLoad()
    await delay(work)
    for (const version of [after, before]) {
      const since = performance.now()
      const [inputs, writes] = [derived.inputs, derived.writes]
      await install(admin, version)
      const old = version === after ? before : after
      replicas = await replaceEach(
        replicas,
        () => start(version),
        async (replica) => {
          const code = await Promise.race([replica.stop(), delay(grace, 'no code', { ref: false })])
          if (code === 'no code') replica.signal('SIGKILL')
          if (code !== 0) console.log(`  ${what}: a replica of ${old.name} ended with ${code}`)
          reportRestarts(replica)
          checks.check(code === 0 || old === before, `${what}: a replica of this version ended with ${code}`)
        },
      )
      const seconds = ((performance.now() - since) / 1000).toFixed(1)
      console.log(
        `  ${what}: ${count} replicas of ${version.name} in place after ${seconds} s; ${derived.inputs - inputs} inputs were created and ${derived.writes - writes} written meanwhile`,
      )
      await delay(work)
    }
    await derived.stopLoad()
    const missing = await derived.settled().then(
      () => '',
      (error: Error) => error.message,
    )
    checks.check(missing === '', `${what}: ${missing}`)
    for (const replica of replicas) reportRestarts(replica)
    if (missing !== '') for (const { log } of replicas) console.log(`--\n${log.slice(-2000)}`)
    // What would still be written without need has time to be.
    await delay(work)
    checks.check(derived.problems.length === 0, `${what}: ${derived.problems.slice(0, 10).join('; ')}`)
    console.log(`  ${what}: ${derived.inputs} inputs, ${derived.writes} writes of them, ${derived.outputs} outputs`)
  } finally {
    for (const replica of replicas) await replica[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  }
}

/** Applies the definitions and rights that a version prints. */
async function install(admin: Client, { launcher }: Version): Promise<void> {
  // Not synchronously: the embedded server answers from this process.
  const printed = await promisify(execFile)(process.execPath, [launcher, 'install', ...only], { maxBuffer: 1 << 28 })
  const objects = parseYamlDocuments(printed.stdout)
    .map((document) => asObject(document as JsonObject))
    .filter(({ kind }) => applied.has(kind))
  const isDefinition = ({ kind }: KubeObject): boolean => kind === 'CustomResourceDefinition'
  await installDefinitions(admin, objects.filter(isDefinition))
  for (const object of objects) if (!isDefinition(object)) await admin.apply(object, { force: true })
}

async function accountKubeconfig({ admin, url, ca }: Server): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 86_400 } }
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const { status } = asJson((await admin.send({ method: 'POST', path, body })) as object) as unknown as {
    readonly status: { readonly token: string }
  }
  return kubeconfigText({ name: 'cluster', server: url, ca, user: { name: account, token: status.token } })
}

async function embedded(): Promise<Server> {
  const server = await ApiServer.start({ authorization: 'RBAC' })
  const { url, certificateAuthority: ca } = await server.listen()
  const admin = server.client({ manager: 'kubectl' })
  return { name: 'ours', admin, url, ca, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

async function real(): Promise<Server> {
  const cluster = await RealCluster.start({ controllers: true })
  const admin = await connect({
    connection: await parseKubeconfig(cluster.kubeconfig).connection(),
    manager: 'kubectl',
  })
  const { url, ca } = cluster
  const close = async (): Promise<void> => {
    await admin.transport[Symbol.asyncDispose]()
    await cluster[Symbol.asyncDispose]()
  }
  return { name: 'kube-apiserver', admin, url, ca, [Symbol.asyncDispose]: close }
}
