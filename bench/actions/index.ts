// Benchmarks of actions (specs/actions.md §8): menus of many components, mapping, freshness, nothing cut.
import { Catalog, LiveCatalog, actions, apiVersion, crds, menuOf, runsOf, targetOf } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import { Client, HttpsTransport, parseKubeconfig } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { Figure } from '../figure.ts'

const components = 1000
const mappings = 100
const rulesEach = 10
const maps = 300
const runs = 20

/** Measures all figures; the scenarios are menus, mapping, endpoint, freshness and all. */
export async function run(scenarios: readonly string[] = []): Promise<readonly Figure[]> {
  const wanted = (name: string): boolean => scenarios.length === 0 || scenarios.includes(name)
  const rows: Figure[] = []
  if (wanted('menus')) rows.push(menus())
  if (wanted('mapping')) rows.push(mapping())
  if (wanted('endpoint')) rows.push(...(await endpoint()))
  if (wanted('freshness') || wanted('all')) rows.push(...(await live(wanted)))
  return rows
}

/** Those with exact counts. */
export const counted: readonly string[] = ['all']

/** Cold merges included: every run begins with a catalog that has merged nothing. */
function menus(): Figure {
  const objects = Array.from({ length: components }, (_value, index) => deployment(index))
  const found = new Map(actionMaps().map((map) => [`${map.metadata.namespace!}/${map.metadata.name!}`, map]))
  const times: number[] = []
  let actions = 0
  for (let round = 0; round < runs; round++) {
    const catalog = new Catalog(kams(), (namespace, name) => found.get(`${namespace}/${name}`))
    const begin = performance.now()
    actions = 0
    for (const object of objects) actions += menuOf(catalog.resolve(object), object, () => true).actions.length
    times.push(performance.now() - begin)
  }
  const reached = median(times)
  return {
    figure: `menus of ${components} components, ${mappings} mappings of ${rulesEach} rules, ${maps} maps`,
    asked: '50 ms, 0 API calls',
    reached: `${reached.toFixed(1)} ms, 0 API calls (${actions} actions)`,
    holds: reached <= 50 && actions > components,
  }
}

function mapping(): Figure {
  const catalog = new Catalog(kams(), () => undefined)
  const target = targetOf(deployment(1))
  const times: number[] = []
  for (let round = 0; round < runs; round++) {
    const begin = performance.now()
    for (let count = 0; count < 10_000; count++) catalog.candidates(target)
    times.push(10_000 / ((performance.now() - begin) / 1000))
  }
  const reached = median(times)
  return {
    figure: `one mapping, warm, ${catalog.candidates(target).candidates.length} candidates`,
    asked: '100,000/s',
    reached: `${Math.round(reached).toLocaleString('en')}/s`,
    holds: reached >= 100_000,
  }
}

/** The components of an Application through the endpoint: list, menus, rights, status and the JSON of the response. */
async function endpoint(): Promise<readonly Figure[]> {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await ApiServer.start())
  const manager = stack.use(await Manager.start({ client: server.client(), crds: [...crds, applicationDefinition] }))
  const instance = await actions.setup(manager, { resolve: new Map(), signal: manager.signal })
  stack.defer(() => instance.stop())
  for (const route of instance.routes ?? []) server.serve(route)
  const client = server.client()
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kappnav' } })
  for (const object of [...kams(), ...actionMaps()]) await client.create(object)
  const labels = { app: 'x' }
  const spec = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  }
  for (let index = 0; index < components; index++) {
    const made = deployment(index)
    await client.create({ ...made, metadata: { ...made.metadata, namespace: 'default' }, spec })
  }
  await client.create({
    apiVersion: 'app.k8s.io/v1beta1',
    kind: 'Application',
    metadata: { name: 'app', namespace: 'default' },
    spec: { selector: { matchLabels: labels }, componentKinds: [{ group: 'apps', kind: 'Deployment' }] },
  })
  const { kubeconfig } = await server.listen()
  const transport = stack.use(new HttpsTransport(await parseKubeconfig(kubeconfig).connection()))
  const remote = new Client({ transport })
  return [
    await menusThrough(client, 'in process'),
    await menusThrough(remote, 'over HTTPS'),
    await menusThrough(remote, 'over HTTPS, form=shared', 'shared'),
  ]
}

/** Measures the request for the components of the Application. */
async function menusThrough(client: Client, what: string, form?: string): Promise<Figure> {
  const times: number[] = []
  let found: readonly { readonly actions: readonly unknown[] }[] = []
  let bytes = 0
  for (let round = 0; round < runs; round++) {
    const begin = performance.now()
    const { body } = await client.sendRaw({
      method: 'GET',
      path: '/api/actions/components',
      query: { namespace: 'default', name: 'app', form },
    })
    times.push(performance.now() - begin)
    found = (body as unknown as { readonly components: typeof found }).components
    if (round === 0) bytes = JSON.stringify(body).length
  }
  const reached = median(times)
  const count = found.reduce((sum, one) => sum + one.actions.length, 0)
  const megabytes = (bytes / 1e6).toFixed(1)
  return {
    figure: `menus of ${components} components through the endpoint ${what}, the same mappings and maps`,
    asked: '100 ms',
    reached: `${reached.toFixed(1)} ms (${found.length} components, ${count} actions, ${megabytes} MB)`,
    holds: reached <= 100 && found.length === components && count > components,
  }
}

const applicationDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'applications.app.k8s.io', annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
  spec: {
    group: 'app.k8s.io',
    scope: 'Namespaced',
    names: { kind: 'Application', plural: 'applications' },
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

async function live(wanted: (name: string) => boolean): Promise<readonly Figure[]> {
  await using server = await ApiServer.start()
  const client = server.client()
  // Mappings and maps of kAppNav's namespace count for all resources.
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kappnav' } })
  let source: LiveCatalog | undefined
  await using manager = await Manager.start({
    client: server.client(),
    crds,
    setup: (made) => void (source = new LiveCatalog(made)),
  })
  await source!.settled(manager.signal)
  const rows: Figure[] = []
  if (wanted('freshness')) rows.push(await freshness(client, source!))
  if (wanted('all')) rows.push(await all(client, source!))
  return rows
}

/** From the write's answer to the menu that shows it. */
async function freshness(client: Client, source: LiveCatalog): Promise<Figure> {
  await client.create(kam('fresh', 1, ['fresh']))
  const object = deployment(1)
  const times: number[] = []
  for (let round = 0; round < runs; round++) {
    const text = JSON.stringify([{ name: `a${round}`, 'url-pattern': 'x' }])
    await client.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'fresh', namespace: 'kappnav' },
      data: { 'url-actions': text },
    })
    const begin = performance.now()
    while (source.catalog().resolve(object).merged.actions[0]?.name !== `a${round}`) await new Promise(setImmediate)
    times.push(performance.now() - begin)
  }
  const reached = Math.max(...times)
  return {
    figure: 'a changed map shows in the menu',
    asked: '10 ms',
    reached: `${median(times).toFixed(2)} ms, at most ${reached.toFixed(2)}`,
    holds: reached <= 10,
  }
}

/** Nothing is cut at 60. */
async function all(client: Client, source: LiveCatalog): Promise<Figure> {
  const count = 100
  for (let index = 0; index < count; index++) {
    await client.create(kam(`all-${index}`, 1, [`all-${index}`]))
    await client.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `all-${index}`, namespace: 'kappnav' },
      data: { 'url-actions': JSON.stringify([{ name: `all-${index}`, 'url-pattern': 'x' }]) },
    })
    await client.create(job(index))
  }
  const shown = (): number =>
    source
      .catalog()
      .resolve(deployment(1))
      .merged.actions.filter(({ name }) => name.startsWith('all-')).length
  for (let round = 0; round < 1000 && shown() < count; round++) await new Promise(setImmediate)
  const jobs = runsOf((await client.list({ apiVersion: 'batch/v1', kind: 'Job' })).items).length
  return {
    figure: `${count} mappings, maps and jobs`,
    asked: 'all',
    reached: `${shown()} actions, ${jobs} jobs`,
    holds: shown() === count && jobs === count,
    exact: true,
  }
}

/** Half of the rules speak of Deployments, the others of other kinds. */
function kams(): readonly KubeObject[] {
  return Array.from({ length: mappings }, (_value, index) => {
    const rules = Array.from({ length: rulesEach }, (_rule, rule) => {
      if (rule === 0) return { apiVersion: '*/*', kind: '*', mapname: `map-${index % maps}` }
      if (rule === 1)
        return { apiVersion: 'apps/v1', kind: 'Deployment', subkind: 'Liberty', mapname: `map-${(index + 100) % maps}` }
      if (rule === 2)
        return {
          apiVersion: 'apps/*',
          kind: 'Deployment',
          name: `component-${index}`,
          mapname: '${namespace}.actions.${kind}.${name}',
        }
      return { apiVersion: 'example.com/v1', kind: `Kind${rule}`, mapname: `map-${(index + rule) % maps}` }
    })
    return {
      ...kam(`kam-${index}`, (index % 9) + 1, []),
      spec: { precedence: (index % 9) + 1, mappings: index < 10 ? rules : rules.slice(1) },
    }
  })
}

function kam(name: string, precedence: number, names: readonly string[]): KubeObject {
  return {
    apiVersion,
    kind: 'KindActionMapping',
    metadata: { name, namespace: 'kappnav' },
    spec: { precedence, mappings: names.map((mapname) => ({ apiVersion: 'apps/v1', kind: 'Deployment', mapname })) },
  }
}

function actionMaps(): readonly KubeObject[] {
  return Array.from({ length: maps }, (_value, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `map-${index}`, namespace: 'kappnav' },
    data: {
      'url-actions': JSON.stringify(
        ['detail', `action-${index}`].map((name) => ({
          name,
          text: name,
          'url-pattern': 'https://console/${resource.$.metadata.name}',
          'enablement-label': 'app',
        })),
      ),
    },
  }))
}

function deployment(index: number): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: `component-${index}`,
      namespace: `namespace-${index % 10}`,
      labels: { app: 'x' },
      ...(index % 2 === 0 ? {} : { annotations: { 'kappnav.subkind': 'Liberty' } }),
    },
  }
}

function job(index: number): KubeObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: `job-${index}`, namespace: 'default', labels: { 'kappnav-job-type': 'command' } },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
