// Detects two controllers of this process that undo each other's writes of one child: both believe that it is theirs,
// because they have parents and a child kind in common. Start with Contests.wrote.
import type { Manager } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { OutputWrite } from '../runtime/writer.ts'

/** A controller, such as `CompositeController fleets`. */
export type ControllerName = string

/** Two controllers that write one child alternately. */
export interface Contest {
  readonly child: KubeObject
  readonly other: ControllerName
}

/** Changes of writer after which two controllers are taken to undo each other's writes; one hands a child over. */
const changesOfContest = 4
/** Milliseconds in which these changes happen, and after which a contest is reported again. */
const period = 600_000
/** Children that are remembered; those written least recently are forgotten first. */
const remembered = 10_000

interface Child {
  writer: ControllerName
  changes: number
  since: number
}

const contestsByManager = new WeakMap<Manager, Contests>()

/** Returns the contests of all controllers of a manager. */
export function contestsOf(manager: Manager): Contests {
  let contests = contestsByManager.get(manager)
  if (contests === undefined) contestsByManager.set(manager, (contests = new Contests()))
  return contests
}

/** The writers of children, over all controllers of a process. */
export class Contests {
  readonly #children = new Map<string, Child>()
  /** When a contest was reported, by the two controllers. */
  readonly #reported = new Map<string, number>()

  /**
   * Records that a controller wrote a child. Returns the contest that this shows, once in ten minutes for two
   * controllers; `now` is in milliseconds.
   */
  wrote(writer: ControllerName, { before, after }: OutputWrite, now: number): Contest | undefined {
    const child = after ?? before
    if (child === undefined) return undefined
    const id = `${child.apiVersion} ${child.kind} ${child.metadata.namespace ?? ''}/${child.metadata.name ?? ''}`
    const known = this.#children.get(id)
    this.#children.delete(id)
    const isChange = known !== undefined && known.writer !== writer
    const isRecent = known !== undefined && now - known.since < period
    const changes = (isRecent ? known.changes : 0) + (isChange ? 1 : 0)
    this.#children.set(id, { writer, changes, since: isRecent ? known.since : now })
    if (this.#children.size > remembered) this.#children.delete(this.#children.keys().next().value!)
    return isChange && changes >= changesOfContest ? this.#report(writer, known.writer, child, now) : undefined
  }

  #report(writer: ControllerName, other: ControllerName, child: KubeObject, now: number): Contest | undefined {
    const pair = [writer, other].toSorted().join(' | ')
    const last = this.#reported.get(pair)
    if (last !== undefined && now - last < period) return undefined
    this.#reported.set(pair, now)
    return { child, other }
  }
}
