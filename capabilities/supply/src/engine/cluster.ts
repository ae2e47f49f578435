// The port of the decision pass (see realize.ts): everything that it reads or writes outside itself. The controller
// implements it with a cluster (runtime/live-cluster.ts), the commands with files (offline/file-cluster.ts).
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ClusterHealthRule, Template, TemplateKind } from '../api.ts'

/** A cluster as one owner sees it in one pass. */
export interface Cluster {
  /** Time of the pass, in milliseconds since the epoch. */
  readonly now: number
  /** Returns a template, or undefined when it does not exist. */
  template(kind: TemplateKind, name: string): Promise<Template | undefined>
  /** Returns the ClusterHealthRules, which `auto` health rules look up. */
  clusterHealthRules(): Promise<readonly ClusterHealthRule[]>
  /** Renders a ytt template. Throws StampError. */
  renderYtt(template: string, context: JsonObject): Promise<JsonValue>
  /**
   * Applies the object of a resource with the lifecycle `mutable` and returns the live object. An object with
   * `generateName` keeps the name that was generated for it first. Throws ApplyError.
   */
  apply(desired: KubeObject): Promise<KubeObject>
  /** Returns the run that has the digest label of `desired`; creates it when there is none. Throws ApplyError. */
  ensureRun(desired: KubeObject): Promise<KubeObject>
  /**
   * Lists the objects that the owner controls and that have these labels: of the kind of `like`, and of other kinds as
   * far as they are known. Throws ApplyError when the kind of `like` cannot be listed.
   */
  ownedObjects(like: KubeObject, labels: Readonly<Record<string, string>>): Promise<readonly KubeObject[]>
  /**
   * Returns the object that a resource stamped in an earlier pass, as last read; undefined when there is none, when it
   * cannot be read now, or when the account may not read it. Never throws.
   */
  stampedEarlier(resource: string): Promise<KubeObject | undefined>
  /** Deletes a run beyond the retention policy. Returns the error to retry; never throws. */
  deleteRun(run: KubeObject): Promise<unknown>
  /** Returns the `plural.group` of an object. */
  groupResourceOf(object: KubeObject): Promise<string>
}
