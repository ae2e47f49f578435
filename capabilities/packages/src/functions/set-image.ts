// set-image: replaces name, tag or digest of container images.
import type { YAMLMap } from 'yaml'
import { isScalar } from 'yaml'
import { mapAt, mapsAt, scalarText, setScalar, setText, textAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { ConfigError, configData, configType, functionApiVersion, isConfigMap } from './config.ts'
import { fieldSpecsAt, findFields } from './field-spec.ts'

interface ImageChange {
  readonly name: string
  readonly newName: string
  readonly newTag: string
  readonly digest: string
}

const podTemplates = new Set(['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet', 'PodTemplate'])

/** Sets images. */
export function setImage({ items, config }: FunctionInput): FunctionOutcome {
  let change: ImageChange
  try {
    change = changeOf(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const terminated = `function is terminated: ${error.message}`
    return {
      results: [
        { message: error.message, severity: 'error' },
        { message: terminated, severity: 'error' },
      ],
      failure: `failed to evaluate function: ${terminated}`,
    }
  }
  let count = 0
  for (const resource of items)
    for (const container of containersOf(resource)) {
      const old = textAt(container, 'image')
      if (old === undefined) continue
      const image = changedImage(old, change)
      if (image === old) continue
      setText(container, ['image'], image)
      count += 1
    }
  for (const spec of config === undefined ? [] : fieldSpecsAt(config, 'additionalImageFields'))
    for (const resource of items)
      for (const { node } of findFields(resource, { ...spec, create: false })) {
        if (!isScalar(node)) continue
        const image = changedImage(scalarText(node), change)
        if (image === scalarText(node)) continue
        setScalar(node, image, { keepStyle: true })
        count += 1
      }
  return { results: [{ message: `summary: updated a total of ${count} image(s)`, severity: 'info' }] }
}

function changeOf(config: YAMLMap | undefined): ImageChange {
  const { apiVersion, kind } = configType(config)
  const fields = new Map<string, string>()
  if (config !== undefined && isConfigMap(config)) {
    for (const [key, value] of configData(config)) {
      if (!['name', 'newName', 'newTag', 'digest'].includes(key))
        throw new ConfigError(`ConfigMap has wrong field name ${key}`)
      fields.set(key, value)
    }
  } else if (config !== undefined && config.items.length > 0) {
    if (apiVersion !== functionApiVersion || kind !== 'SetImage')
      throw new ConfigError(`unknown FunctionConfig \`${kind}\`, expect \`SetImage.fn.kpt.dev\` or \`ConfigMap.v1\``)
    for (const key of ['name', 'newName', 'newTag', 'digest']) fields.set(key, textAt(config, 'image', key) ?? '')
  }
  const [name = '', newName = '', newTag = '', digest = ''] = ['name', 'newName', 'newTag', 'digest'].map(
    (key) => fields.get(key) ?? '',
  )
  if (name === '') throw new ConfigError('must specify `name`')
  if (newName === '' && newTag === '' && digest === '')
    throw new ConfigError('must specify one of `newName`, `newTag`, or `digest`')
  return { name, newName, newTag, digest }
}

/** Returns the containers of a pod or of the pod template of a workload, init containers first. */
function containersOf({ fields, kind }: Resource): YAMLMap[] {
  const path =
    kind === 'Pod'
      ? ['spec']
      : podTemplates.has(kind) || kind === 'Job' || kind === 'ReplicationController'
        ? [...(kind === 'PodTemplate' ? [] : ['spec']), 'template', 'spec']
        : kind === 'CronJob'
          ? ['spec', 'jobTemplate', 'spec', 'template', 'spec']
          : undefined
  const spec = path === undefined ? undefined : mapAt(fields, ...path)
  return spec === undefined ? [] : [...mapsAt(spec, 'initContainers'), ...mapsAt(spec, 'containers')]
}

/** Returns the image after the change, which is the image itself when its name is another. */
function changedImage(image: string, { name, newName, newTag, digest }: ImageChange): string {
  const parts = splitImage(image)
  if (parts.name !== name) return image
  const suffix = digest !== '' ? `@${digest}` : newTag !== '' ? `:${newTag}` : parts.tag !== '' ? `:${parts.tag}` : ''
  const kept = digest === '' && newTag === '' && parts.digest !== '' ? `@${parts.digest}` : ''
  return `${newName === '' ? parts.name : newName}${suffix}${kept}`
}

function splitImage(image: string): { readonly name: string; readonly tag: string; readonly digest: string } {
  const [reference = '', digest = ''] = image.split('@')
  const colon = reference.indexOf(':', reference.indexOf('/') + 1)
  return colon === -1
    ? { name: reference, tag: '', digest }
    : { name: reference.slice(0, colon), tag: reference.slice(colon + 1), digest }
}
