// set-labels: sets labels on resources, pod templates and selectors.
import { isSeq } from 'yaml'
import type { YAMLMap } from 'yaml'
import type { FunctionResult } from '../engine/function-runner.ts'
import { mapAt, mapsAt, setText, textAt, textsAt, valueAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { isLocalConfig } from '../engine/render/resource.ts'
import { configData, configType, functionApiVersion, isEmptyConfig } from './config.ts'
import { functionFailure } from './sdk-failure.ts'

/** Sets labels. */
export function setLabels({ items, config }: FunctionInput): FunctionOutcome {
  const results: FunctionResult[] = []
  let labels: ReadonlyMap<string, string> = new Map()
  if (isEmptyConfig(config)) results.push({ message: '`FunctionConfig` is not given', severity: 'info' })
  else {
    const read = labelsOf(config!)
    if ('problem' in read) return { results: [{ message: read.problem, severity: 'error' }], failure: functionFailure }
    labels = read.labels
  }
  const resources = items.filter((item) => !isLocalConfig(item))
  if (resources.length === 0) return { results: [...results, { message: 'no input resources', severity: 'info' }] }
  if (isEmptyConfig(config)) return { results, failure: functionFailure }
  if (labels.size === 0)
    return {
      results: [...results, { message: 'no `labels` arguments are given in FunctionConfig', severity: 'warning' }],
    }
  const setter = new LabelSetter(labels)
  for (const resource of resources) setter.visit(resource)
  return { results: [...results, { message: `set ${setter.count} labels in total`, severity: 'info' }] }
}

function labelsOf(config: YAMLMap): { readonly labels: ReadonlyMap<string, string> } | { readonly problem: string } {
  const { apiVersion, kind } = configType(config)
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : ''
  if (group === '' && kind === 'ConfigMap') return { labels: configData(config) }
  if (apiVersion.startsWith(`${functionApiVersion.split('/')[0]}/`) && kind === 'SetLabels')
    return isSeq(valueAt(config, 'labels'))
      ? {
          problem: `unable to convert object to *setlabels.SetLabels with error: json: cannot unmarshal array into Go struct field SetLabels.labels of type map[string]string`,
        }
      : { labels: textsAt(config, 'labels') }
  const shown = group === '' ? kind : `${kind}.${group}`
  return { problem: `unknown FunctionConfig \`${shown}\`, expect \`SetLabels.fn.kpt.dev\` or \`ConfigMap.v1\`` }
}

class LabelSetter {
  readonly #labels: readonly (readonly [string, string])[]
  /** Labels that are set, whether they changed or not. */
  count = 0

  constructor(labels: ReadonlyMap<string, string>) {
    this.#labels = [...labels].toSorted(([a], [b]) => (a < b ? -1 : 1))
  }

  visit(resource: Resource): void {
    const { fields } = resource
    this.#set(fields, ['metadata', 'labels'])
    this.#selectors(resource)
    const spec = mapAt(fields, 'spec')
    if (spec === undefined) return
    if (hasPodTemplate(resource)) this.#podTemplate(mapAt(spec, 'template'))
    if (isKind(resource, 'batch', 'CronJob')) this.#jobTemplate(mapAt(spec, 'jobTemplate'))
    if (isKind(resource, 'apps', 'StatefulSet'))
      for (const claim of mapsAt(spec, 'volumeClaimTemplates')) {
        this.#set(claim, ['metadata', 'labels'])
        this.#update(claim, ['spec', 'selector', 'matchLabels'])
      }
    if (!isKind(resource, 'networking.k8s.io', 'NetworkPolicy')) return
    for (const [rules, peers] of [
      ['ingress', 'from'],
      ['egress', 'to'],
    ] as const)
      for (const rule of mapsAt(spec, rules))
        for (const peer of mapsAt(rule, peers)) this.#update(peer, ['podSelector', 'matchLabels'])
  }

  #selectors(resource: Resource): void {
    const { fields } = resource
    if (isCore(resource, 'Service') || isCore(resource, 'ReplicationController'))
      this.#set(fields, ['spec', 'selector'])
    if (controllerKinds.has(resource.kind)) this.#set(fields, ['spec', 'selector', 'matchLabels'])
    else if (isKind(resource, 'batch', 'Job') || isKind(resource, 'policy', 'PodDisruptionBudget'))
      this.#update(fields, ['spec', 'selector', 'matchLabels'])
    if (isKind(resource, 'networking.k8s.io', 'NetworkPolicy'))
      this.#update(fields, ['spec', 'podSelector', 'matchLabels'])
  }

  #jobTemplate(template: YAMLMap | undefined): void {
    if (template === undefined) return
    this.#set(template, ['metadata', 'labels'])
    this.#update(template, ['spec', 'selector', 'matchLabels'])
    this.#podTemplate(mapAt(template, 'spec', 'template'))
  }

  #podTemplate(template: YAMLMap | undefined): void {
    if (template === undefined) return
    this.#set(template, ['metadata', 'labels'])
    const spec = mapAt(template, 'spec')
    if (spec === undefined) return
    for (const constraint of mapsAt(spec, 'topologySpreadConstraints'))
      this.#update(constraint, ['labelSelector', 'matchLabels'])
    for (const kind of ['podAffinity', 'podAntiAffinity']) {
      const affinity = mapAt(spec, 'affinity', kind)
      if (affinity === undefined) continue
      for (const preferred of mapsAt(affinity, 'preferredDuringSchedulingIgnoredDuringExecution'))
        this.#update(preferred, ['podAffinityTerm', 'labelSelector', 'matchLabels'])
      for (const term of mapsAt(affinity, 'requiredDuringSchedulingIgnoredDuringExecution'))
        this.#update(term, ['labelSelector', 'matchLabels'])
    }
  }

  /** Sets all labels of a map, which is created where it is missing. */
  #set(fields: YAMLMap, path: readonly string[]): void {
    for (const [key, value] of this.#labels) {
      this.count += 1
      if (textAt(fields, ...path, key) !== value) setText(fields, [...path, key], value)
    }
  }

  /** Changes the values of labels that a selector already has. */
  #update(fields: YAMLMap, path: readonly string[]): void {
    for (const [key, value] of this.#labels) {
      this.count += 1
      const old = valueAt(fields, ...path, key)
      if (old !== undefined && textAt(fields, ...path, key) !== value) setText(fields, [...path, key], value)
    }
  }
}

const controllerKinds = new Set(['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'])

function hasPodTemplate(resource: Resource): boolean {
  return (
    controllerKinds.has(resource.kind) || isCore(resource, 'ReplicationController') || isKind(resource, 'batch', 'Job')
  )
}

function isKind({ group, kind }: Resource, wantedGroup: string, wantedKind: string): boolean {
  return group === wantedGroup && kind === wantedKind
}

function isCore({ apiVersion, kind }: Resource, wanted: string): boolean {
  return apiVersion === 'v1' && kind === wanted
}
