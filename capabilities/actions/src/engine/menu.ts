// Menus: the actions of a resource as users see them, and their provenance for `why`.
import { ownValue } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import type { Resolution } from './catalog.ts'
import { enablementOf } from './enablement.ts'
import type { Enablement } from './enablement.ts'
import type { Target } from './mapping/target.ts'
import { partFor, scopeOf } from './maps/merge.ts'
import type { FoundMap, MergedAction, MergedMap } from './maps/merge.ts'
import { menuText } from './runs/command.ts'

/** One action of a menu. */
export interface MenuItem {
  readonly type: 'url' | 'cmd'
  readonly name: string
  readonly text: string
  readonly description: string
  /** The action is offered for this resource. */
  readonly isEnabled: boolean
  /** The reason when it is not offered. */
  readonly reason?: string
  /** The caller may run it. */
  readonly isAllowed: boolean
  readonly openWindow?: string
  /** Name of the input form, and the form as written in its map. */
  readonly requiresInput?: string
  readonly input?: JsonValue
  /** `namespace/name` of the map that defines it. */
  readonly map: string
  /** `namespace/name` of the mapping, and the path of the rule that named the map. */
  readonly mapping?: string
  readonly rule?: string
  /** `namespace/name` of less specific maps that define an action of this type and name. */
  readonly overrides: readonly string[]
  /** Present when the namespace of the map is not trusted. */
  readonly isUntrusted?: true
  /** The service account that the command of the action runs as on behalf of its users, when its map names one. */
  readonly runAs?: string
  /** The image and the command template of a command action. */
  readonly command?: { readonly image: string; readonly pattern: string }
}

/** A candidate map and its state after lookup and merge. */
export interface WhyCandidate {
  readonly name: string
  readonly namespace: string
  readonly level: string
  readonly precedence: number
  readonly mapping: string
  readonly rule: string
  /** `used`, `cut` (behind a map with policy replace), or `missing`. */
  readonly state: 'used' | 'cut' | 'missing'
  readonly policy?: string
}

/** The actions of a resource. */
export interface Menu {
  readonly resource: {
    readonly apiVersion: string
    readonly kind: string
    readonly subkind: string
    readonly namespace: string
    readonly name: string
  }
  readonly actions: readonly MenuItem[]
}

/** A menu with its provenance. */
export interface Why extends Menu {
  readonly candidates: readonly WhyCandidate[]
  readonly problems: readonly {
    readonly object: string
    readonly field: string
    readonly code: string
    readonly message: string
  }[]
}

/** Reports whether the caller may use an action. */
export type MayUse = (action: MergedAction) => boolean

/** Returns the menu of a resource. */
export function menuOf(resolution: Resolution, resource: KubeObject, mayUse: MayUse): Menu {
  return {
    resource: describe(resolution.target),
    actions: resolution.merged.actions.map((action) => itemOf(action, resolution, resource, mayUse)),
  }
}

/** Returns the menu of a resource with its candidates and problems. */
export function whyOf(resolution: Resolution, resource: KubeObject, mayUse: MayUse): Why {
  return {
    ...menuOf(resolution, resource, mayUse),
    candidates: candidatesOf(resolution),
    problems: problemsOf(resolution),
  }
}

/** Returns the candidates of a resource, most specific first. */
export function candidatesOf({ candidates, merged }: Resolution): readonly WhyCandidate[] {
  const positions = new Map(merged.found.map(({ map }, position) => [`${map.namespace}/${map.name}`, position]))
  return candidates.map(({ name, namespace, level, mapping, rule }) => {
    const index = positions.get(`${namespace}/${name}`) ?? -1
    return {
      name,
      namespace,
      level,
      precedence: mapping.precedence,
      mapping: `${mapping.namespace}/${mapping.name}`,
      rule: rule.field,
      state: index < 0 ? 'missing' : index < merged.used ? 'used' : 'cut',
      ...(index < 0 ? {} : { policy: merged.found[index]!.map.policy }),
    }
  })
}

/** Returns the problems of the mappings and maps of a resource. */
export function problemsOf({ problems, merged }: Resolution): Why['problems'] {
  return [
    ...problems.map(({ mapping, field, code, message }) => ({
      object: `KindActionMapping ${mapping.namespace}/${mapping.name}`,
      field,
      code,
      message,
    })),
    ...merged.found.flatMap(({ map }) =>
      map.problems.map(({ field, code, message }) => ({
        object: `ConfigMap ${map.namespace}/${map.name}`,
        field,
        code,
        message,
      })),
    ),
  ]
}

/** Items that have no reason, by action and by what they say: resources with the same maps share them. */
const items = new WeakMap<MergedAction, (MenuItem | undefined)[]>()

function itemOf(action: MergedAction, { merged }: Resolution, resource: KubeObject, mayUse: MayUse): MenuItem {
  const enablement = enablementOf(action.fields, resource)
  const isAllowed = mayUse(action)
  if (enablement.reason !== undefined) return makeItem(action, merged, enablement, isAllowed)
  let known = items.get(action)
  if (known === undefined) items.set(action, (known = []))
  return (known[Number(enablement.isShown) + 2 * Number(isAllowed)] ??= makeItem(action, merged, enablement, isAllowed))
}

function makeItem(
  action: MergedAction,
  merged: MergedMap,
  { isShown, reason }: Enablement,
  isAllowed: boolean,
): MenuItem {
  const { fields, from, overrides, type } = action
  const stringAt = (key: string): string | undefined => {
    const value = ownValue(fields, key)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const input = stringAt('requires-input')
  const form = input === undefined ? undefined : partFor(scopeOf(merged, action), from.map, 'inputs', input)
  return {
    type: type === 'url-actions' ? 'url' : 'cmd',
    name: action.name,
    text: menuText(fields),
    description: stringAt('description') ?? '',
    isEnabled: isShown,
    ...(reason === undefined ? {} : { reason }),
    isAllowed,
    ...(type === 'url-actions' ? { openWindow: stringAt('open-window') ?? 'tab' } : {}),
    ...(input === undefined ? {} : { requiresInput: input }),
    ...(form === undefined ? {} : { input: form }),
    map: keyOf(from),
    ...(from.candidate === undefined
      ? {}
      : {
          mapping: `${from.candidate.mapping.namespace}/${from.candidate.mapping.name}`,
          rule: from.candidate.rule.field,
        }),
    overrides: overrides.map(keyOf),
    ...(from.isUntrusted === true ? { isUntrusted: true } : {}),
    ...(type === 'cmd-actions' ? commandOf(action, stringAt('image'), stringAt('cmd-pattern')) : {}),
  }
}

/** Returns what a command action runs, and as which account. */
function commandOf(
  { from: { isUntrusted, map } }: MergedAction,
  image: string | undefined,
  pattern: string | undefined,
): Pick<MenuItem, 'runAs' | 'command'> {
  return {
    ...(isUntrusted === true || map.runAs === undefined ? {} : { runAs: map.runAs }),
    ...(image === undefined || pattern === undefined ? {} : { command: { image, pattern } }),
  }
}

function keyOf({ map }: FoundMap): string {
  return `${map.namespace}/${map.name}`
}

function describe({ apiVersion, kind, subkind, namespace, name, isClusterScoped }: Target): Menu['resource'] {
  return { apiVersion, kind, subkind, namespace: isClusterScoped === true ? '' : namespace, name }
}
