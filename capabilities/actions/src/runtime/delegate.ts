// Runs on behalf of callers: the Jobs of maps that name an account are created and read with the rights of the server.
import { randomUUID } from 'node:crypto'
import type { Client } from '@fairlead/client'
import type { Caller, Right, Rights } from './rights.ts'

/** The right to create the Job of a run. */
export const createJobs: Right = { verb: 'create', group: 'batch', resource: 'jobs' }

const readRuns: readonly Right[] = [
  { verb: 'list', group: 'batch', resource: 'jobs' },
  { verb: 'get', group: 'batch', resource: 'jobs' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'get', group: '', resource: 'pods/log' },
]

/** The server of actions as the creator of Jobs, with the rights that administrators gave it in their namespaces. */
export class Delegate {
  readonly client: Client
  readonly #rights: Rights
  readonly #self: Caller

  constructor(client: Client, rights: Rights) {
    this.client = client
    this.#rights = rights
    // The rules of callers are cached by their names: no caller may have this one.
    this.#self = { client, user: { name: `system:fairlead:actions:${randomUUID()}`, groups: [] } }
  }

  /** Reports whether the server may create Jobs in a namespace. */
  async mayCreate(namespace: string): Promise<boolean> {
    return (await this.#rights.rules(this.#self, namespace)).allow(createJobs)
  }

  /** Reports whether the server may read the runs of a namespace and their logs. */
  async mayRead(namespace: string): Promise<boolean> {
    const rules = await this.#rights.rules(this.#self, namespace)
    return readRuns.every((right) => rules.allow(right))
  }
}
