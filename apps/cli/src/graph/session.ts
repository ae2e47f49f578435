// One run of a command over relations: the object, the reader with the rights of the user, and the sources.
import { servedKinds } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { ClientReader, ObjectLookup, objectReference, ownerRelations, podRelations } from '@fairlead/controller'
import type { CommandContext, Unreadable } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { progress } from './progress.ts'
import { relationSources } from './relation-sources.ts'
import { parseObject, readTarget } from './target.ts'

/** The parts of a command's context that a session needs. */
export type SessionContext = Pick<
  CommandContext<
    { readonly namespace: string | undefined },
    { readonly object: string; readonly name: string | undefined }
  >,
  'arguments' | 'options' | 'client' | 'signal'
>

/** A run. */
export interface Session {
  readonly client: Client
  readonly object: KubeObject
  readonly lookup: ObjectLookup
  /** Everything that could not be read so far. */
  readonly unreadable: () => readonly Unreadable[]
}

/** Connects, reads the object and calls `use`; closes the connection after it. Shows the requests on a terminal. */
export async function withSession<T>(context: SessionContext, use: (session: Session) => Promise<T>): Promise<T> {
  const { arguments: given, options, signal } = context
  const target = parseObject(given.object, given.name)
  const loading = relationSources()
  const client = (await context.client()).with({ signal })
  await using _transport = client.transport
  using shown = progress()
  const served = await servedKinds(client, { signal })
  const namespace = options.namespace ?? client.namespace
  const object = await readTarget(client, target, { served, namespace, signal })
  const { sources, reports } = await loading
  const read = new ClientReader(client, { signal, served, namespace, onRequest: shown.update })
  const views = sources.flatMap((source) => source.views ?? [])
  const owners = ownerRelations(objectReference(object), views)
  const lookup = new ObjectLookup({ sources: [...sources, owners, podRelations], read, reports })
  // Awaited: the connection is open, and progress shown, until it is done.
  return await use({ client, object, lookup, unreadable: () => read.unreadable })
}
