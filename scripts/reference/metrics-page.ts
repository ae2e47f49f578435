// docs/reference/metrics.md: from the registries of managers that run, and from what an API server shows.
import { ApiServer } from '@fairlead/apiserver'
import { createLogger, installDefinitions, Manager } from '@fairlead/controller'
import type { Capability } from '@fairlead/controller'
import type { GeneratedFile } from '../generate/generated-file.ts'
import { code, page, prose, table } from './markdown.ts'

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly labelNames: readonly string[]
}

/** Returns the page of the metrics of a manager with each capability. */
export async function metricsPage(capabilities: readonly Capability[]): Promise<GeneratedFile> {
  const common = await metricsOf(undefined)
  const known = new Set(common.map(({ name }) => name))
  const sections: string[] = []
  for (const capability of capabilities) {
    const own = (await metricsOf(capability)).filter(({ name }) => !known.has(name))
    if (own.length > 0) sections.push(`## ${capability.name}`, metricTable(own))
  }
  const intro =
    'What is served at `/metrics` by a manager that has a server, in the names that dashboards of controller-runtime and client-go know; each capability adds its own. `fairlead up` shows them all at the `/metrics` of its API server.'
  return {
    name: 'metrics.md',
    text: page(
      'Metrics',
      'the registries of managers',
      intro,
      '## Every controller',
      metricTable(common),
      ...sections,
      '## API server',
      ...(await serverSection()),
    ),
  }
}

function metricTable(metrics: readonly Metric[]): string {
  return table(
    ['metric', 'type', 'labels', ''],
    metrics.map(({ name, type, labelNames, help }) => [code(name), type, labelNames.map(code).join(', '), prose(help)]),
  )
}

async function metricsOf(capability: Capability | undefined): Promise<Metric[]> {
  await using server = await ApiServer.start()
  const client = server.client()
  if (capability !== undefined) await installDefinitions(client, capability.crds)
  await using manager = await Manager.start({
    client,
    logger: await createLogger({ level: 'error', write: () => undefined }),
  })
  const instance = await capability?.setup(manager, { resolve: new Map(), signal: new AbortController().signal })
  const metrics = manager.metrics.registry.getMetricsAsArray() as unknown as (Metric & {
    readonly constructor: { readonly name: string }
  })[]
  await instance?.stop()
  return metrics
    .map(({ name, help, labelNames, constructor }) => ({
      name,
      help,
      labelNames,
      type: constructor.name.toLowerCase(),
    }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
}

/** The metrics at `/metrics`, with the labels of the samples. */
async function serverSection(): Promise<string[]> {
  await using server = await ApiServer.start()
  await server.client().send({ method: 'GET', path: '/api/v1/namespaces' })
  const text = (
    await server.inject({ method: 'GET', path: '/metrics', user: { name: 'reference', groups: ['system:masters'] } })
  ).body
  const metrics = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gm)].map(
    ([, name = '', help = '', type = '']) => ({
      name,
      help,
      type,
      labelNames: labelsOf(name, text),
    }),
  )
  const own = metrics.filter(({ name }) => !/^(process|nodejs)_/.test(name))
  return [
    'For users that may GET `/metrics` there, beside the numbers of the process that `prom-client` collects (`process_*`, `nodejs_*`).',
    metricTable(own.toSorted((left, right) => (left.name < right.name ? -1 : 1))),
  ]
}

function labelsOf(name: string, text: string): readonly string[] {
  const labels = [...text.matchAll(new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} `, 'gm'))].flatMap(([, sample = '']) =>
    [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label!),
  )
  return [...new Set(labels)].filter((label) => label !== 'le')
}
