// Where objects are stamped: what realizing asks of the world. The controller answers from a cluster, the commands from files.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ClusterHealthRule, Template, TemplateKind } from '../api.ts'

/** The world of one owner. */
export interface Ground {
  /** Milliseconds since the epoch. */
  readonly now: number
  template(kind: TemplateKind, name: string): Promise<Template | undefined>
  /** Rules of kinds, for health rules that are `auto`. */
  healthDefaults(): Promise<readonly ClusterHealthRule[]>
  /** Evaluates a ytt template. Throws StampError. */
  ytt(text: string, context: JsonObject): Promise<JsonValue>
  /**
   * Makes the one object of a mutable lifecycle be as wanted, and returns it as it is. One with `generateName` keeps the name that was once
   * generated for it. Throws {@link ApplyError}.
   */
  apply(wanted: KubeObject): Promise<KubeObject>
  /** The object that was asked for exactly so (it has a digest), made unless it is there. Throws {@link ApplyError}. */
  ensureRun(wanted: KubeObject): Promise<KubeObject>
  /** Objects of a kind that the owner controls and that have these labels. Throws {@link ApplyError} when that cannot be told. */
  owned(like: KubeObject, labels: Readonly<Record<string, string>>): Promise<readonly KubeObject[]>
  /** Lets a run go that retention does not keep. Never throws. */
  discard(run: KubeObject): Promise<void>
  /** `plural.group` of an object. */
  resourceOf(object: KubeObject): Promise<string>
}

/**
 * An object of an owner could not be written or read.
 * - `TemplateRejectedByAPIServer`: the API server refused the stamped object; the reason of the condition, as in Cartographer.
 * - `FailedToListCreatedObjects`: the kind cannot be listed (not yet, or not with these rights), so nothing is decided.
 */
export class ApplyError extends Error {
  override readonly name = 'ApplyError'
  readonly code: 'TemplateRejectedByAPIServer' | 'FailedToListCreatedObjects'
  /** Somebody has to change something first, and that wakes the owner: trying again is in vain. */
  readonly settled: boolean

  constructor(
    code: ApplyError['code'],
    message: string,
    options: { readonly settled: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.settled = options.settled
  }
}
