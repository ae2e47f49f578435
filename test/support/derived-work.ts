// Work for replicas that are replaced while it changes, and a ledger of what they write: copies that a MapController
// makes of ConfigMaps, and runs with generated names that Runnables stamp. Start with DerivedWork.begin; replicas need
// the capabilities metacontroller and supply.
import { setTimeout as delay } from 'node:timers/promises'
import { kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { eventually } from './until.ts'

const example = { group: 'examples.fairlead.dev', version: 'v1', kind: 'Copies', plural: 'copies' }
const labels = { input: 'yes' }
const ConfigMap = kind<KubeObject & { readonly data?: Readonly<Record<string, string>> }>('v1', 'ConfigMap', {
  plural: 'configmaps',
  namespaced: true,
})
const serviceAccount = 'runs'
/** Milliseconds between two writes of the load. */
const pause = 20

const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${example.plural}.${example.group}` },
  spec: {
    group: example.group,
    scope: 'Cluster',
    names: { kind: example.kind, plural: example.plural, singular: 'copy', listKind: 'CopiesList' },
    versions: [
      {
        name: example.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

const rules = (apiGroup: string, resource: string, verbs: string): object => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs: verbs.split(' '),
})

const rbac = 'rbac.authorization.k8s.io'

/** The rights that users grant to the two capabilities. */
const grants: readonly KubeObject[] = [
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'copies', labels: { 'rbac.fairlead.dev/aggregate-to-metacontroller': 'true' } },
    rules: [
      rules(example.group, example.plural, 'get list watch'),
      rules(example.group, `${example.plural}/status`, 'patch'),
      rules(example.group, `${example.plural}/finalizers`, 'update'),
      rules('', 'configmaps', 'get list watch create patch delete'),
    ],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'runs', labels: { 'rbac.fairlead.dev/aggregate-to-supply': 'true' } },
    rules: [rules('', 'configmaps', 'get list watch')],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'run-writer' },
    rules: [rules('', 'configmaps', 'get list create patch delete')],
  },
]

/** The objects of the capabilities. */
const declarations: readonly KubeObject[] = [
  {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'MapController',
    metadata: { name: 'copies' },
    spec: {
      parentResource: { apiVersion: `${example.group}/${example.version}`, resource: example.plural },
      inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
      outputResources: [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }],
      hooks: {
        map: {
          expression: `[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy-" + input.metadata.name, "namespace": input.metadata.namespace, "labels": {"output": "copy"}}, "data": {"of": input.metadata.name, "value": input.data.value}}]`,
        },
      },
    },
  },
  {
    apiVersion: `${example.group}/${example.version}`,
    kind: example.kind,
    metadata: { name: 'all' },
    spec: { selector: { matchLabels: labels } },
  },
  {
    apiVersion: 'carto.run/v1alpha1',
    kind: 'ClusterRunTemplate',
    metadata: { name: 'run' },
    spec: {
      template: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { generateName: '$(runnable.metadata.name)$-', labels: { output: 'run' } },
        data: { of: '$(runnable.metadata.name)$', value: '$(runnable.spec.inputs.value)$' },
      },
    },
  },
]

/** The events of one output. */
interface Entry {
  readonly name: string
  readonly uid: string
  /** The last one. */
  value: number
}

/** Inputs that change while replicas come and go, and what became of their outputs. */
export class DerivedWork implements AsyncDisposable {
  /** Errors that no order of events allows: outputs made twice, deleted, written without need or with older values. */
  readonly problems: string[] = []
  readonly #admin: Client
  readonly #namespaces: readonly string[]
  /** The last value of each input by `namespace/name`. */
  readonly #values = new Map<string, number>()
  readonly #copies = new Map<string, Entry>()
  readonly #runs = new Map<string, Entry>()
  readonly #ended = new AbortController()
  #stopLoad = false
  #load: Promise<void> = Promise.resolve()
  #ledger: Promise<void> = Promise.resolve()
  #last = 0

  private constructor(admin: Client, namespaces: readonly string[]) {
    this.#admin = admin
    this.#namespaces = namespaces
  }

  /** Applies definitions, rights and declarations. The definitions of the capabilities must be served. */
  static async begin(admin: Client, namespaces = 8): Promise<DerivedWork> {
    const work = new DerivedWork(
      admin,
      Array.from({ length: namespaces }, (_, index) => `work-${index}`),
    )
    await installDefinitions(admin, [definition])
    for (const object of grants) await admin.apply(object)
    for (const name of work.#namespaces) {
      await admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      const account = { kind: 'ServiceAccount', name: serviceAccount, namespace: name }
      await admin.apply({ apiVersion: 'v1', kind: account.kind, metadata: { name: account.name, namespace: name } })
      await admin.apply({
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'runs', namespace: name },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'run-writer' },
        subjects: [account],
      })
    }
    for (const object of declarations) await admin.apply(object)
    work.#ledger = work.#follow()
    return work
  }

  /** The number of inputs. */
  get inputs(): number {
    return this.#values.size
  }

  /** The number of writes of inputs. */
  get writes(): number {
    return this.#last
  }

  /** The number of outputs that were made. */
  get outputs(): number {
    return this.#copies.size + this.#runs.size
  }

  /** Starts writing inputs: two new ones, then changes of two earlier ones, again and again. */
  startLoad(): void {
    this.#stopLoad = false
    this.#load = (async () => {
      for (let turn = 0; !this.#stopLoad; turn++) {
        const namespace = this.#namespaces[turn % this.#namespaces.length]!
        await this.#write(`${namespace}/input-${turn}`)
        await this.#write(`${namespace}/runnable-${turn}`)
        // Spreads over all earlier ones: 7919 is prime.
        const earlier = (turn * 7919) % (turn + 1)
        const within = this.#namespaces[earlier % this.#namespaces.length]!
        await this.#write(`${within}/input-${earlier}`)
        await this.#write(`${within}/runnable-${earlier}`)
        await delay(pause)
      }
    })()
  }

  /** Stops writing inputs. */
  async stopLoad(): Promise<void> {
    this.#stopLoad = true
    await this.#load
  }

  /**
   * Resolves when every input has its outputs of its last value. Throws what is missing once none of them arrives any
   * more: a machine that does much else is slow, which loses nothing.
   */
  async settled(): Promise<void> {
    for (let left = Infinity; left > 0;)
      left = await eventually(() => {
        const missing = this.#missing()
        if (missing.length >= left)
          throw new Error(`${missing.length} outputs are missing: ${missing.slice(0, 5).join(', ')}`)
        return missing.length
      }, 50)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopLoad()
    this.#ended.abort()
    await this.#ledger
  }

  async #write(key: string): Promise<void> {
    const [namespace, name] = key.split('/') as [string, string]
    const value = ++this.#last
    const metadata = { namespace, name }
    const inputs = { value: String(value) }
    const spec = { serviceAccountName: serviceAccount, runTemplateRef: { name: 'run' }, inputs }
    await this.#admin.apply(
      name.startsWith('input')
        ? ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, labels }, data: inputs } as KubeObject)
        : ({ apiVersion: 'carto.run/v1alpha1', kind: 'Runnable', metadata, spec } as KubeObject),
    )
    this.#values.set(key, value)
  }

  #missing(): string[] {
    return [...this.#values].flatMap(([key, value]) => {
      const [namespace, name] = key.split('/') as [string, string]
      const found = name.startsWith('input')
        ? this.#copies.get(`${namespace}/copy-${name}`)?.value === value
        : this.#runs.has(`${key}=${value}`)
      return found ? [] : [`${key}=${value}`]
    })
  }

  async #follow(): Promise<void> {
    const options = { namespace: '', labelSelector: 'output', signal: this.#ended.signal }
    try {
      for await (const change of this.#admin.watch(ConfigMap, options)) {
        if (change.type === 'interrupted' || change.type === 'synced') continue
        const { metadata, data = {} } = change.object
        const name = `${metadata.namespace}/${metadata.name}`
        const value = Number(data['value'])
        if (change.type === 'removed') this.problems.push(`${name} was deleted`)
        else if (metadata.labels?.['output'] === 'copy') this.#copy(name, metadata.uid!, value)
        else this.#run(`${metadata.namespace}/${data['of']}=${value}`, name, metadata.uid!, value)
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) this.problems.push(`The watch of the outputs ended: ${String(error)}`)
    }
  }

  #copy(name: string, uid: string, value: number): void {
    const entry = this.#copies.get(name)
    if (entry === undefined) {
      this.#copies.set(name, { name, uid, value })
      return
    }
    if (entry.uid !== uid) this.problems.push(`${name} was made again: uid ${entry.uid}, then ${uid}`)
    if (value < entry.value) this.problems.push(`${name} went back from ${entry.value} to ${value}`)
    if (value === entry.value) this.problems.push(`${name} was written without need, at ${value}`)
    entry.value = value
  }

  #run(key: string, name: string, uid: string, value: number): void {
    const entry = this.#runs.get(key)
    if (entry === undefined) this.#runs.set(key, { name, uid, value })
    else if (entry.uid !== uid) this.problems.push(`The run of ${key} was made twice: ${entry.name} and ${name}`)
    else this.problems.push(`${name} was written without need`)
  }
}
