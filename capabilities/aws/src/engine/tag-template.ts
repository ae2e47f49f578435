// Tags that every created resource gets: ACK's --resource-tags, with its placeholders. Pure.
import { SettingError } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'

/** A tag whose value may hold placeholders. */
export interface TagTemplate {
  readonly key: string
  readonly value: string
}

/** The tags of ACK where no others are set. */
export const defaultTags: readonly TagTemplate[] = [
  { key: 'services.k8s.aws/controller-version', value: '%CONTROLLER_SERVICE%-%CONTROLLER_VERSION%' },
  { key: 'services.k8s.aws/namespace', value: '%K8S_NAMESPACE%' },
]

const placeholders: Readonly<Record<string, (object: KubeObject, service: string) => string>> = {
  CONTROLLER_SERVICE: (_object, service) => service,
  CONTROLLER_VERSION: () => 'fairlead',
  MANAGED_BY: () => 'fairlead',
  K8S_NAMESPACE: ({ metadata }) => metadata.namespace ?? '',
  K8S_RESOURCE_NAME: ({ metadata }) => metadata.name ?? '',
  K8S_RESOURCE_KIND: ({ kind }) => kind,
}
const placeholder = /%([A-Z0-9_]+)%/g

/**
 * Parses `key=value` pairs with commas; an empty string is no tag.
 * @throws SettingError
 */
export function parseTemplates(value: string): readonly TagTemplate[] {
  if (value.trim() === '') return []
  return value.split(',').map((entry) => {
    const [, key, template] = /^\s*([^=]+?)\s*=(.*)$/.exec(entry) ?? []
    if (key === undefined || template === undefined)
      throw new SettingError(`resource-tags=${value}: write <key>=<value>, with commas`)
    for (const [whole, name = ''] of template.matchAll(placeholder))
      if (!Object.hasOwn(placeholders, name))
        throw new SettingError(
          `resource-tags=${value}: there is no ${whole}; there are ${Object.keys(placeholders)
            .map((one) => `%${one}%`)
            .join(', ')}`,
        )
    return { key, value: template.trim() }
  })
}

/** Returns the tags of an object's resource. */
export function renderTags(
  templates: readonly TagTemplate[],
  object: KubeObject,
  { group }: { readonly group: string },
): Readonly<Record<string, string>> {
  const service = group.split('.')[0] ?? ''
  return Object.fromEntries(
    templates.map(({ key, value }) => [
      key,
      value.replaceAll(placeholder, (whole, name: string) => placeholders[name]?.(object, service) ?? whole),
    ]),
  )
}
