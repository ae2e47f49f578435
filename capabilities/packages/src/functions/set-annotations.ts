// set-annotations: sets annotations on resources and pod templates, and on fields that the config names.
import type { YAMLMap } from 'yaml'
import { Scalar, isMap, isScalar } from 'yaml'
import type { FunctionResult } from '../engine/function-runner.ts'
import { pairOf, setNode, setScalar, textsAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import { ConfigError, configData, configType, functionApiVersion, isConfigMap } from './config.ts'
import type { FieldSpec } from './field-spec.ts'
import { fieldSpecsAt, findFields } from './field-spec.ts'
import { failed, fileOf, sortResults } from './results.ts'

const podTemplate = 'spec/template/metadata/annotations'
const jobTemplate = 'spec/jobTemplate'

/** Fields that hold annotations in Kubernetes' own kinds. */
const defaultFields: readonly FieldSpec[] = [
  { path: 'metadata/annotations', create: true },
  { path: podTemplate, create: true, version: 'v1', kind: 'ReplicationController' },
  ...['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'].map((kind) => ({
    path: podTemplate,
    create: true,
    kind,
  })),
  { path: podTemplate, create: true, group: 'batch', kind: 'Job' },
  { path: `${jobTemplate}/metadata/annotations`, create: true, group: 'batch', kind: 'CronJob' },
  { path: `${jobTemplate}/${podTemplate}`, create: true, group: 'batch', kind: 'CronJob' },
]

/** Sets annotations. */
export function setAnnotations({ items, config }: FunctionInput): FunctionOutcome {
  let options: ReturnType<typeof optionsOf>
  try {
    options = optionsOf(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const message = `failed to configure function: ${error.message}`
    return failed(message, `[error]: ${message}`)
  }
  const keys = [...options.annotations.keys()].toSorted()
  const message = `set annotations: ${JSON.stringify(Object.fromEntries(keys.map((key) => [key, options.annotations.get(key)])))}`
  // One result for each field of each place: kpt's places are those within their packages.
  const results = new Map<string, FunctionResult>()
  for (const resource of items) {
    const paths = new Set<string>()
    for (const spec of options.fields)
      for (const { node, path } of findFields(resource, spec)) {
        if (!isMap(node)) continue
        for (const key of keys) setAnnotation(node, key, options.annotations.get(key) ?? '')
        paths.add(path.join('.'))
      }
    const file = fileOf(resource)
    for (const path of paths) results.set(JSON.stringify([file, path]), { message, field: { path }, file })
  }
  return { results: results.size === 0 ? [{ message: 'no annotations applied' }] : sortResults([...results.values()]) }
}

function setAnnotation(map: YAMLMap, key: string, value: string): void {
  const present = pairOf(map, key)?.value
  if (isScalar(present)) setScalar(present, value, { keepStyle: true })
  else setNode(map, key, new Scalar(value))
}

function optionsOf(config: YAMLMap | undefined): {
  readonly annotations: ReadonlyMap<string, string>
  readonly fields: readonly FieldSpec[]
} {
  const { apiVersion, kind } = configType(config)
  const isOwn = apiVersion === functionApiVersion && (kind === 'SetAnnotations' || kind === 'SetAnnotationConfig')
  if (config === undefined || (!isConfigMap(config) && !isOwn))
    throw new ConfigError('`functionConfig` must be a `ConfigMap` or `SetAnnotations`')
  const annotations = isOwn ? textsAt(config, 'annotations') : configData(config)
  const additional = fieldSpecsAt(config, 'additionalAnnotationFields')
  const old = fieldSpecsAt(config, 'fieldSpecs')
  if (isOwn && additional.length > 0 && old.length > 0)
    throw new ConfigError('`fieldSpecs` has been deprecated, please rename it to `additionalAnnotationFields`')
  if (annotations.size === 0) throw new ConfigError('input annotation list cannot be empty')
  return { annotations, fields: [...(isOwn ? [...additional, ...old] : []), ...defaultFields] }
}
