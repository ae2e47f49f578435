// The definitions of all built-in resources: the generated tables with strategies, printers and selectable fields.
import { formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { ResourceDefinition, VersionDefinition } from './definition/resource-definition.ts'
import { convertEvent } from './core/event.ts'
import { dynamicResourceRows } from './tables/dynamic-resources.ts'
import { builtinGroups, builtinVersions } from './tables/groups.ts'
import { convertAutoscaler } from './policy/autoscaler-versions.ts'
import { printerOf } from './printers/index.ts'
import { messageOfKind } from './go-types/message-type.ts'
import { selectableFieldsOf } from './selectable-fields.ts'
import { strategyOf } from './strategies.ts'
import type { ResourceRow } from './tables/builtin-tables.ts'
import { builtinSchema, resourceRows, schemaName } from './tables/builtin-tables.ts'
import { typedForm } from './go-types/typed-form.ts'

/** The deprecation warnings of kube-apiserver v1.35. */
const deprecations: Readonly<Record<string, Pick<VersionDefinition, 'deprecated' | 'deprecationWarning'>>> = {
  'v1/ComponentStatus': { deprecated: true, deprecationWarning: 'v1 ComponentStatus is deprecated in v1.19+' },
  'v1/Endpoints': {
    deprecated: true,
    deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  },
}

let definitions: readonly ResourceDefinition[] | undefined

/** Returns every built-in resource, groups and versions in discovery's order. The same list on every call. */
export function builtinResources(): readonly ResourceDefinition[] {
  definitions ??= buildDefinitions()
  return definitions
}

function buildDefinitions(): ResourceDefinition[] {
  const rows = { ...resourceRows(), ...dynamicResourceRows }
  return builtinGroups.flatMap((group) => {
    const versions = builtinVersions[group] ?? groupVersionsOf(group, rows)
    const plurals = new Set(
      versions.flatMap((version) => (rows[formatApiVersion(group, version)] ?? []).map((row) => row.plural)),
    )
    return [...plurals].map((plural) => definition(group, plural, versions, rows))
  })
}

function groupVersionsOf(group: string, rows: Readonly<Record<string, readonly ResourceRow[]>>): string[] {
  return Object.keys(rows)
    .map(parseApiVersion)
    .filter((groupVersion) => groupVersion.group === group)
    .map(({ version }) => version)
}

function definition(
  group: string,
  plural: string,
  versions: readonly string[],
  rows: Readonly<Record<string, readonly ResourceRow[]>>,
): ResourceDefinition {
  const found = versions.flatMap((version) =>
    (rows[formatApiVersion(group, version)] ?? [])
      .filter((row) => row.plural === plural)
      .map((row) => ({ version, row })),
  )
  const [first] = found
  if (first === undefined) throw new Error(`no version serves ${plural} of ${group}`)
  const { kind, singular, namespaced, shortNames = [], categories = [] } = first.row
  return {
    origin: 'builtin',
    group,
    plural,
    singular,
    kind,
    listKind: `${kind}List`,
    namespaced,
    shortNames,
    categories,
    versions: found.map(({ version, row }) => versionDefinition(group, version, row)),
    storageVersion: first.version,
    ...conversionOf(group, kind),
    strategy: strategyOf(group, formatApiVersion(group, first.version), first.row),
  }
}

function versionDefinition(group: string, version: string, row: ResourceRow): VersionDefinition {
  const apiVersion = formatApiVersion(group, version)
  return {
    name: version,
    served: true,
    ...deprecations[`${apiVersion}/${row.kind}`],
    verbs: row.verbs,
    subresources: row.subresources ?? [],
    get schema() {
      return builtinSchema(apiVersion, row.kind)
    },
    ...decoderOf(apiVersion, row.kind),
    printer: printerOf(group, row.kind),
    selectableFields: selectableFieldsOf(group, row.kind),
  }
}

/** Returns the conversion of kinds whose versions differ in more than apiVersion. */
function conversionOf(group: string, kind: string): Pick<ResourceDefinition, 'convert'> {
  if (kind === 'Event')
    return { convert: (objects, apiVersion) => objects.map((object) => convertEvent(object, apiVersion)) }
  if (group === 'autoscaling')
    return { convert: (objects, apiVersion) => objects.map((object) => convertAutoscaler(object, apiVersion)) }
  return {}
}

/** Returns the decoder of a kind with a Go type; free-form kinds have none. */
function decoderOf(apiVersion: string, kind: string): Pick<VersionDefinition, 'decode'> {
  if (schemaName(apiVersion, kind) === undefined) return {}
  return {
    decode(body, decoder) {
      const type = messageOfKind(apiVersion, kind)
      return type === undefined ? { object: body, unknownFields: [] } : typedForm(type, body, decoder)
    },
  }
}
