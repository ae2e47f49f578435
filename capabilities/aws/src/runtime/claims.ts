// Claims of resources by objects: two objects never have the same one. The status of an object holds its claim; until
// the cache shows that, this process remembers it.
import { kind as clientKind } from '@fairlead/client'
import type { Informer, Manager } from '@fairlead/controller'
import { DisposableStack } from '@fairlead/kube'
import type { ObjectId } from '@fairlead/references'
import { finalizerOf } from '../engine/resource-kind.ts'
import type { ResourceKind } from '../engine/resource-kind.ts'
import { confirmedArn } from '../engine/resource-status.ts'

interface Claim {
  readonly id: ObjectId
  readonly uid: string | undefined
}

/** The claims on the resources of all kinds. */
export class Claims implements Disposable {
  readonly #informers = new Map<string, Informer>()
  readonly #recent = new Map<string, Claim>()
  readonly #uses = new DisposableStack()

  constructor(manager: Manager, kinds: readonly ResourceKind[]) {
    for (const { group, version, kind } of kinds)
      this.#informers.set(
        `${group}/${kind}`,
        this.#uses.use(manager.use(clientKind(`${group}/${version}`, kind))).informer,
      )
  }

  /** Claims a resource for an object; returns the other object that has it, or that it was created for. */
  claim(arn: string, { id, uid }: Claim, creator: string | undefined): ObjectId | undefined {
    const objects = this.#informers.get(`${id.group}/${id.kind}`)?.lastKnown
    const recent = this.#recent.get(arn)
    if (recent !== undefined && recent.uid !== uid && objects?.get(recent.id)?.metadata.uid === recent.uid)
      return recent.id
    const other = this.#others(arn, { id, uid }, creator).next().value
    if (other === undefined) this.#recent.set(arn, { id, uid })
    return other
  }

  /** Returns the objects that manage a resource, or that it was created for, but for the one that asks. */
  holders(arn: string, claim: Claim, creator: string | undefined): readonly ObjectId[] {
    return [...this.#others(arn, claim, creator)].filter((other) => {
      const { metadata } = this.#informers.get(`${other.group}/${other.kind}`)?.lastKnown.get(other) ?? {}
      // One that only reads it has no finalizer.
      return (metadata?.finalizers ?? []).includes(finalizerOf(other))
    })
  }

  *#others(arn: string, { id, uid }: Claim, creator: string | undefined): Generator<ObjectId, undefined> {
    for (const object of this.#informers.get(`${id.group}/${id.kind}`)?.lastKnown.values() ?? []) {
      const { name = '', namespace = '', uid: otherUid } = object.metadata
      if (otherUid !== uid && (confirmedArn(object) === arn || otherUid === creator)) yield { ...id, namespace, name }
    }
  }

  [Symbol.dispose](): void {
    this.#uses[Symbol.dispose]()
  }
}
