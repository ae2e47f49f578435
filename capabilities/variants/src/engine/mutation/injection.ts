// Injection of objects into the points of a package (spec variants §2.5). Start with decideInjection.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import { editResources } from '@fairlead/packages'
import type { PackageVariantSpec } from '../../api.ts'
import { conditionPrefix, conditionTypeOf, injectedAnnotations, isPoint } from './injection-point.ts'
import type { InjectionPoint } from './injection-point.ts'
import type { PackageText } from './package-text.ts'

type Injectors = NonNullable<PackageVariantSpec['injectors']>

/** The objects that a point may take: those of its kind in the namespace of the variant. */
export type PointSources =
  | { readonly objects: ReadonlyMap<string, KubeObject> }
  /** Why the kind cannot be read. */
  | { readonly problem: string }

/** The decision about a point. */
export interface InjectionDecision {
  readonly point: InjectionPoint
  readonly status: 'True' | 'False'
  readonly reason: 'ConfigInjected' | 'NoResourceSelected'
  readonly message: string
  /** The object and the field to copy; undefined when nothing is injected. */
  readonly source: { readonly name: string; readonly field: 'data' | 'spec'; readonly value: JsonValue } | undefined
  /** The data that was injected before stays, although its object was deleted or cannot be read. */
  readonly isKept: boolean
}

/** Returns the field of a kind that is injected. */
export function injectedField({ group, kind }: Pick<InjectionPoint, 'group' | 'kind'>): 'data' | 'spec' {
  return group === '' && kind === 'ConfigMap' ? 'data' : 'spec'
}

/** Secrets are never read: packages are stored in git in plain. */
export function isSecret({ group, kind }: Pick<InjectionPoint, 'group' | 'kind'>): boolean {
  return group === '' && kind === 'Secret'
}

/** Returns the names that the injectors allow for a point, in order of preference. */
export function candidateNames(point: InjectionPoint, injectors: Injectors): readonly string[] {
  return injectors
    .filter(
      ({ group, version, kind }) =>
        (group === undefined || group === point.group) &&
        (version === undefined || version === point.version) &&
        (kind === undefined || kind === point.kind),
    )
    .map(({ name }) => name)
}

/** Decides about a point. */
export function decideInjection(point: InjectionPoint, injectors: Injectors, sources: PointSources): InjectionDecision {
  const names = candidateNames(point, injectors)
  const isStillNamed = point.injected !== undefined && names.includes(point.injected)
  const none = (message: string, isKept = false): InjectionDecision => ({
    point,
    status: 'False',
    reason: 'NoResourceSelected',
    message,
    source: undefined,
    isKept,
  })
  if (isSecret(point)) return none('Secrets are never injected: a package is stored in git in plain')
  if (injectors.length === 0) return none('no injectors defined')
  if (names.length === 0) return none(`no injector selects ${point.apiVersion} ${point.kind}`)
  if ('problem' in sources) return none(sources.problem, isStillNamed)
  const name = names.find((one) => sources.objects.has(one))
  if (name === undefined) {
    const missing = `no ${point.kind} named ${names.join(' or ')} in the namespace of the variant`
    return none(isStillNamed ? `${missing}; the package keeps what was injected` : missing, isStillNamed)
  }
  const field = injectedField(point)
  const value = (sources.objects.get(name) as unknown as JsonObject)[field]
  if (value === undefined) return none(`${point.kind}/${name} has no field ${field}`)
  return {
    point,
    status: 'True',
    reason: 'ConfigInjected',
    message: `injected resource "${name}" from cluster`,
    source: { name, field, value },
    isKept: false,
  }
}

/**
 * Returns the files after injection, with a condition and a gate per point in the Kptfile; new ones in the order of
 * their types. @throws PackageError
 */
export function withInjection(files: PackageText, decisions: readonly InjectionDecision[]): PackageText {
  const changed: Record<string, string> = { ...files }
  const injected = decisions.filter(({ source }) => source !== undefined)
  for (const [file, ofFile] of Map.groupBy(injected, ({ point }) => point.file)) {
    const byResource = new Map(ofFile.map((one) => [resourceKey(one.point), one]))
    changed[file] = editResources(file, changed[file]!, (resource) => {
      const { point, source } = byResource.get(resourceKeyOf(resource.object)) ?? {}
      if (point === undefined || source === undefined || !isPoint(resource.object, point)) return
      resource.set([source.field], source.value)
      resource.set(['metadata', 'annotations', injectedAnnotations[0]], source.name)
      resource.remove(['metadata', 'annotations', injectedAnnotations[1]])
    })
  }
  const kptfile = changed['Kptfile']
  if (kptfile !== undefined) changed['Kptfile'] = withConditions(kptfile, decisions)
  return changed
}

function resourceKey({ apiVersion, kind, name }: Pick<InjectionPoint, 'apiVersion' | 'kind' | 'name'>): string {
  return JSON.stringify([apiVersion, kind, name])
}

function resourceKeyOf(object: JsonObject): string {
  const { apiVersion, kind } = object
  return JSON.stringify([apiVersion, kind, (object['metadata'] as JsonObject | undefined)?.['name']])
}

function withConditions(kptfile: string, decisions: readonly InjectionDecision[]): string {
  const types = new Set(decisions.map(({ point }) => conditionTypeOf(point)))
  const isVanished = (type: JsonValue | undefined): boolean =>
    typeof type === 'string' && type.startsWith(conditionPrefix) && !types.has(type)
  return editResources('Kptfile', kptfile, (resource) => {
    const conditions = itemsAt(resource.object, 'status', 'conditions').filter(({ type }) => !isVanished(type))
    const places = new Map(conditions.map(({ type }, index) => [type, index] as const).toReversed())
    const gates = new Set(itemsAt(resource.object, 'info', 'readinessGates').map(({ conditionType }) => conditionType))
    resource.removeItems(['status', 'conditions'], (item) => isJsonObject(item) && isVanished(item['type']))
    resource.removeItems(['info', 'readinessGates'], (item) => isJsonObject(item) && isVanished(item['conditionType']))
    const newConditions = new Map<string, JsonObject>()
    const newGates: JsonObject[] = []
    const ordered = decisions.map((decision) => [conditionTypeOf(decision.point), decision] as const)
    ordered.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    for (const [type, { point, status, reason, message, isKept }] of ordered) {
      const index = places.get(type)
      const wanted = { type, status, message, reason }
      if (index !== undefined) {
        if (!isKept) resource.setItem(['status', 'conditions'], index, wanted)
      } else if (!newConditions.has(type) || !isKept) newConditions.set(type, wanted)
      if (!point.isRequired || gates.has(type)) continue
      gates.add(type)
      newGates.push({ conditionType: type })
    }
    resource.insertItems(['status', 'conditions'], [...newConditions.values()])
    resource.insertItems(['info', 'readinessGates'], newGates)
  })
}

function itemsAt(object: JsonObject, field: string, list: string): JsonObject[] {
  const items = (object[field] as JsonObject | undefined)?.[list]
  return Array.isArray(items) ? (items as JsonValue[]).filter((item) => isJsonObject(item)) : []
}
