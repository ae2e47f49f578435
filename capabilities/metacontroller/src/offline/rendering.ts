// Renders a MapController over the objects of files: decides on every group as the controller does in a cluster.
import type { KubeObject } from '@fairlead/kube'
import { KindCatalog } from '@fairlead/offline'
import type { MapController } from '../api.ts'
import type { Decision } from '../engine/decide-group.ts'
import { decideGroup } from '../engine/decide-group.ts'
import type { Hooks } from '../engine/hook.ts'
import { resolveKinds } from '../engine/kinds.ts'
import { FileCluster } from './file-cluster.ts'

/** The decision on one group. */
export interface RenderedGroup extends Decision {
  /** The input as `Kind.group/namespace/name`. */
  readonly input: string
  readonly mapKey: string
}

/** The decisions on the groups of one parent. */
export interface RenderedParent {
  readonly parent: KubeObject
  /** The reason why the parent's selector is invalid; undefined when it is valid. */
  readonly problem: string | undefined
  readonly groups: readonly RenderedGroup[]
  /** Number of inputs of each kind that it selects; undefined where it is not known. */
  readonly inputTotals: readonly (number | undefined)[]
}

/** Options of {@link renderController}. */
export interface RenderOptions {
  readonly controller: MapController
  /** Parents, inputs, outputs, related objects, definitions: everything that exists. */
  readonly objects: readonly KubeObject[]
  /** Resolves the kinds of the spec; made from the objects when left out. */
  readonly catalog?: KindCatalog
  readonly hooks: Hooks
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly signal: AbortSignal
  /** Selects the groups to decide on by their map key; all when left out. For tests. */
  readonly selects?: (mapKey: string) => boolean
  /** Plurals of input kinds that cannot be listed; see {@link FileCluster}. For tests. */
  readonly unlistable?: ReadonlySet<string>
}

/** Decides on the groups of all parents, sorted by input. Throws UnknownKindError and SelectorError. */
export async function renderController(options: RenderOptions): Promise<RenderedParent[]> {
  const { controller, objects, hooks, now, signal, selects, unlistable } = options
  const catalog = options.catalog ?? new KindCatalog(objects)
  const kinds = await resolveKinds(controller.spec, (name) => catalog.byResource(name))
  const cluster = new FileCluster({ controller, kinds, objects, ...(unlistable === undefined ? {} : { unlistable }) })
  const rendered: RenderedParent[] = []
  for (const parent of cluster.parents) {
    const groups: RenderedGroup[] = []
    for (const [mapKey, input] of cluster.groupsOf(parent)) {
      if (selects?.(mapKey) === false) continue
      const decision = await decideGroup(cluster, hooks, { parent, mapKey }, { now, signal })
      groups.push({ ...decision, input, mapKey })
    }
    rendered.push({
      parent: parent.object,
      problem: parent.selector.valid ? undefined : parent.selector.message,
      groups: groups.toSorted((a, b) => (a.input < b.input ? -1 : 1)),
      inputTotals: cluster.inputTotals(parent),
    })
  }
  return rendered
}
