// The contract of a capability: a value that `fairlead up` composes (design.md "A capability is a value"). The API
// server, the command line and the console implement their side of it.
import type { KubeObject } from '@fairlead/kube'
import type { Command } from './command.ts'
import type { RelationSource } from './graph/relation.ts'
import type { Manager } from './manager.ts'
import type { PolicyRule } from './policy-rule.ts'
import type { ResourceStorage } from './resource-storage.ts'
import type { Route, SignedRoute } from './routes.ts'
import type { Validator } from './validator.ts'

/** Options that every capability is set up with. */
export interface CapabilityOptions {
  /** `host:port` by name, for addresses that only resolve in a cluster (`fairlead up --resolve name=host:port`). */
  readonly resolve: ReadonlyMap<string, string>
  /** Settings by name (`fairlead up --set <capability>.<name>=<value>`). */
  readonly settings?: ReadonlyMap<string, string>
  /**
   * A folder for data that outlives the process and is no Kubernetes object, such as git repositories. The capability
   * creates it. Undefined where nothing is kept: in-memory servers, and processes beside a real cluster without a
   * volume.
   */
  readonly dataFolder?: string
  /** Set beside an embedded server, on a machine of one person; not beside a real cluster. */
  readonly isEmbedded?: boolean
  /** Cancels the set-up. What was set up is stopped by {@link CapabilityInstance.stop}. */
  readonly signal: AbortSignal
}

/** A capability that was set up on a manager: what it serves, and how it is stopped. */
export interface CapabilityInstance {
  /** API resources that the capability serves from its own storage. */
  readonly storages?: readonly ResourceStorage[]
  /** HTTP endpoints; handlers run with the rights of the caller. */
  readonly routes?: readonly Route[]
  /** HTTP endpoints whose callers sign their requests; beside a real cluster, where `routes` are not served. */
  readonly signedRoutes?: readonly SignedRoute[]
  /** Stops what the manager does not stop by itself, and releases it. Called once, before the manager stops. */
  stop(): Promise<void>
}

/** A capability: its kinds, its rights, and how it is set up. */
export interface Capability {
  readonly name: string
  /** Former names: the group of commands and the label that grants rights keep working under them. */
  readonly aliases?: readonly string[]
  readonly crds: readonly KubeObject[]
  /** Definitions of the resources that `setup` serves from its own storage; manifests register their groups. */
  readonly served?: readonly KubeObject[]
  /** Least privilege; the chart and the embedded server use them alike. */
  readonly rules: readonly PolicyRule[]
  /** Names of the settings that it takes; none when left out. The caller refuses other names. */
  readonly settings?: readonly string[]
  /** Starts the controllers on a manager. Throws SettingError for a value that is not valid. */
  setup(manager: Manager, options: CapabilityOptions): Promise<CapabilityInstance>
  readonly admission?: readonly Validator[]
  /** Objects for a useful first day; created when missing, unless the user has changed or deleted them. */
  readonly defaults?: readonly KubeObject[]
  commands?(): Promise<readonly Command[]>
  /** Loads what finds its edges in the graph of derived objects, with the rights of the user that asks (ADR 0008). */
  relations?(): Promise<RelationSource>
}
