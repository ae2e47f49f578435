// The part of a node and of the controllers of workloads that the examples need: programs of Deployments run
// as processes of this machine, StatefulSets have Pods, Pods have logs. Status is set by simulate.yaml.
import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { PodLogs } from '@fairlead/apiserver'
import { Pod, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Manager } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { isAlreadyExists } from '@fairlead/kube'

interface Container {
  readonly image: string
  readonly command?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}
interface PodTemplate {
  readonly metadata?: { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string> }
  readonly spec: {
    readonly containers: readonly Container[]
    readonly volumes?: readonly {
      readonly name: string
      readonly configMap?: { readonly name: string }
      readonly secret?: { readonly secretName: string }
    }[]
  }
}
type Workload = KubeObject & { readonly spec: { readonly replicas?: number; readonly template: PodTemplate } }
type Data = KubeObject & { readonly data?: Readonly<Record<string, string>> }
type Selecting = KubeObject & { readonly spec?: { readonly selector?: Readonly<Record<string, string>> } }

const Deployment = kind<Workload>('apps/v1', 'Deployment', { plural: 'deployments', namespaced: true })
const StatefulSet = kind<Workload>('apps/v1', 'StatefulSet', { plural: 'statefulsets', namespaced: true })
const ConfigMap = kind<Data>('v1', 'ConfigMap', { plural: 'configmaps', namespaced: true })
const Secret = kind<Data>('v1', 'Secret', { plural: 'secrets', namespaced: true })
const Service = kind<Selecting>('v1', 'Service', { plural: 'services', namespaced: true })

/** Runs the hook programs of the examples. */
export class Node implements AsyncDisposable {
  /** Addresses of Services whose programs run, by `<service>.<namespace>`. */
  readonly addresses: Map<string, string> = new Map<string, string>()
  readonly #folder: string
  readonly #programs: ChildProcess[] = []
  /** Addresses of programs by the uid of their Deployment. */
  readonly #started = new Map<string, string>()
  #output = ''

  /** Creates a node that keeps volumes in a folder. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** The end of what the programs wrote. */
  get output(): string {
    return this.#output
  }

  /** Starts its controllers. */
  setup(manager: Manager): void {
    const { client } = manager
    manager
      .controller('programs')
      .for(Deployment)
      .reconcile(async ({ object }) => {
        const uid = object.metadata.uid ?? ''
        const address = this.#started.get(uid) ?? (await this.#start(client, object, uid))
        this.#started.set(uid, address)
        for (const service of await servicesOf(client, object)) this.addresses.set(service, address)
      })
    manager
      .controller('pods-of-stateful-sets')
      .for(StatefulSet)
      .reconcile(async ({ object }) => {
        for (let ordinal = 0; ordinal < (object.spec.replicas ?? 1); ordinal++)
          await client.create(podOf(object, ordinal)).catch((error: unknown) => {
            if (!isAlreadyExists(error)) throw error
          })
      })
  }

  /** Writes the volumes of a Deployment and starts its program; returns its address. */
  async #start(client: Client, deployment: Workload, uid: string): Promise<string> {
    const { namespace = '' } = deployment.metadata
    const { containers, volumes = [] } = deployment.spec.template.spec
    const { image, command = [], volumeMounts = [] } = containers[0]!
    const paths = new Map<string, string>()
    for (const { name, mountPath } of volumeMounts) {
      const { configMap, secret } = volumes.find((volume) => volume.name === name)!
      const folder = join(this.#folder, uid, name)
      mkdirSync(folder, { recursive: true })
      const source =
        configMap === undefined
          ? await client.get(Secret, { namespace, name: secret!.secretName })
          : await client.get(ConfigMap, { namespace, name: configMap.name })
      for (const [key, value] of Object.entries(source.data ?? {}))
        writeFileSync(join(folder, key), Buffer.from(value, configMap === undefined ? 'base64' : 'utf8'))
      paths.set(mountPath, folder)
    }
    const inFolder = (path: string): string => {
      const mount = [...paths].find(([mountPath]) => path.startsWith(`${mountPath}/`))
      return mount === undefined ? path : path.replace(mount[0], mount[1])
    }
    const program = /^(?:.*\/)?python:/.test(image)
      ? spawn('python3', [
          join(import.meta.dirname, 'hook_host.py'),
          inFolder(command.at(-1) ?? ''),
          ...[...paths].flat(),
        ])
      : spawn(process.execPath, [join(import.meta.dirname, 'hook-host.ts'), ...[...paths.values()].slice(0, 1)])
    this.#programs.push(program)
    program.stderr.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-10_000)))
    return new Promise((resolve, reject) => {
      createInterface({ input: program.stdout }).on('line', (line) => {
        const port = /^port (\d+)$/.exec(line)?.[1]
        if (port !== undefined) resolve(`127.0.0.1:${port}`)
      })
      program.once('close', () => reject(new Error(`the program of ${deployment.metadata.name} ended`)))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) program.kill('SIGKILL')
  }
}

/** Runs the command of a Pod when its log is read. */
export const logsOfCommand: PodLogs = (pod) => {
  const { command = [], env = [] } = (pod as unknown as PodTemplate).spec.containers[0]!
  const given = Object.fromEntries(env.map(({ name, value = '' }) => [name, value]))
  return (async function* () {
    const { stdout } = await promisify(execFile)(command[0]!, command.slice(1), { env: { ...process.env, ...given } })
    yield Buffer.from(stdout)
  })()
}

async function servicesOf(client: Client, { metadata, spec }: Workload): Promise<readonly string[]> {
  const labels = spec.template.metadata?.labels ?? {}
  const { items } = await client.list(Service, { namespace: metadata.namespace ?? '' })
  const selected = items.filter((service) => {
    const selector = Object.entries(service.spec?.selector ?? {})
    return selector.length > 0 && selector.every(([key, value]) => labels[key] === value)
  })
  // The Service of an example comes after its Deployment: try again.
  if (selected.length === 0) throw new Error(`no Service selects the Pods of ${metadata.name}`)
  return selected.map((service) => `${service.metadata.name}.${service.metadata.namespace}`)
}

function podOf(owner: Workload, ordinal: number): KubeObject {
  const { apiVersion, kind: ownerKind, metadata, spec } = owner
  const { name = '', namespace = '', uid = '' } = metadata
  const { labels = {}, annotations = {} } = spec.template.metadata ?? {}
  return {
    apiVersion: Pod.apiVersion,
    kind: Pod.kind,
    metadata: {
      name: `${name}-${ordinal}`,
      namespace,
      labels,
      annotations,
      ownerReferences: [{ apiVersion, kind: ownerKind, name, uid, controller: true }],
    },
    spec: spec.template.spec as unknown as JsonObject,
  }
}
