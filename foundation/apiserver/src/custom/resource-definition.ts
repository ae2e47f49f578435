// Converts CRDs to resource definitions.
import type { CustomResourceDefinition, DefinitionVersion, KubeObject } from '@fairlead/kube'
import { compareVersions, asCustomResourceDefinition, asJson, formatGoValue, parseColumnPath } from '@fairlead/kube'
import type { ResourceDefinition, SubresourceDefinition, VersionDefinition } from '@fairlead/builtin-kinds'
import { celRules } from './cel-rules.ts'
import { conversionOf } from './conversion-webhook.ts'
import type { ConversionSource } from './conversion-webhook.ts'
import { customPrinter } from './custom-printer.ts'
import { customResourceStrategy, schemaOfVersion } from './custom-strategy.ts'
import type { RuleEngine } from './validation-rules.ts'

/** In the order of discovery. */
const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const subresourceVerbs = ['get', 'patch', 'update']

/**
 * Returns the resource that a CRD defines, with its versions in Kubernetes' order of preference. Names are the accepted
 * ones, or the requested ones while none have been accepted. Without `webhooks` versions differ by apiVersion alone,
 * whatever the CRD says.
 */
export function resourceDefinitionFrom(
  crd: KubeObject,
  engine: RuleEngine = celRules,
  webhooks?: ConversionSource,
): ResourceDefinition {
  const definition = asCustomResourceDefinition(crd)
  const { spec, status } = definition
  const accepted = status?.acceptedNames
  const names = (accepted?.plural ?? '') === '' ? spec.names : accepted!
  const { plural = '', kind = '', listKind = `${kind}List`, singular = kind.toLowerCase() } = names
  const convert = conversionOf(crd, webhooks)
  return {
    origin: 'custom',
    group: spec.group ?? '',
    plural,
    singular,
    kind,
    listKind,
    namespaced: spec.scope === 'Namespaced',
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    versions: spec.versions
      .toSorted((a, b) => compareVersions(a.name, b.name))
      .map((version) => versionDefinition(version, definition, kind)),
    storageVersion: spec.versions.find((version) => version.storage === true)?.name ?? '',
    crd,
    ...(convert === undefined ? {} : { convert }),
    strategy: customResourceStrategy(definition, engine),
  }
}

/** Returns the warning about a deprecated version: it names the newest version that may be used instead. */
function defaultDeprecation({ name }: DefinitionVersion, { spec }: CustomResourceDefinition, kind: string): string {
  const warning = `${spec.group}/${name} ${kind} is deprecated`
  const [newest] = spec.versions
    .filter((other) => other.served === true && other.deprecated !== true && compareVersions(other.name, name) < 0)
    .toSorted((a, b) => compareVersions(a.name, b.name))
  return newest === undefined ? warning : `${warning}; use ${spec.group}/${newest.name} ${kind}`
}

function versionDefinition(version: DefinitionVersion, crd: CustomResourceDefinition, kind: string): VersionDefinition {
  const { scale } = version.subresources ?? {}
  return {
    name: version.name,
    served: version.served === true,
    ...(version.deprecated === true
      ? { deprecated: true, deprecationWarning: version.deprecationWarning ?? defaultDeprecation(version, crd, kind) }
      : {}),
    verbs,
    subresources: subresourcesOf(version, kind),
    schema: schemaOfVersion(version),
    ...(scale === undefined
      ? {}
      : {
          scale: {
            specReplicasPath: scale.specReplicasPath ?? '',
            statusReplicasPath: scale.statusReplicasPath ?? '',
            ...(scale.labelSelectorPath === undefined ? {} : { labelSelectorPath: scale.labelSelectorPath }),
          },
        }),
    printer: customPrinter(version.additionalPrinterColumns),
    selectableFields: selectableFieldsOf(version),
  }
}

function subresourcesOf({ subresources }: DefinitionVersion, kind: string): SubresourceDefinition[] {
  const status: SubresourceDefinition = { name: 'status', kind, verbs: subresourceVerbs }
  const scale: SubresourceDefinition = {
    name: 'scale',
    kind: 'Scale',
    groupVersion: 'autoscaling/v1',
    verbs: subresourceVerbs,
  }
  return [
    ...(subresources?.status === undefined ? [] : [status]),
    ...(subresources?.scale === undefined ? [] : [scale]),
  ]
}

function selectableFieldsOf(version: DefinitionVersion): VersionDefinition['selectableFields'] {
  const fields = (version.selectableFields ?? []).flatMap(({ jsonPath = '' }) => {
    if (jsonPath === '') return []
    const find = parseColumnPath(jsonPath)
    const read = (object: KubeObject): string => {
      const [value] = find(asJson(object))
      return value === undefined || value === null ? '' : formatGoValue(value)
    }
    return [[jsonPath.replace(/^\./, ''), read] as const]
  })
  return Object.fromEntries(fields)
}
