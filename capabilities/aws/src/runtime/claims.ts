// Claims of resources by objects: two objects never have the same one. The status of an object holds its claim; until
// the cache shows that, this process remembers it.
import { kind as clientKind } from '@fairlead/client'
import type { Informer, Manager } from '@fairlead/controller'
import { DisposableStack } from '@fairlead/kube'
import type { ObjectId } from '@fairlead/references'
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
    for (const object of objects?.values() ?? []) {
      const { name = '', namespace = '', uid: otherUid } = object.metadata
      if (otherUid !== uid && (confirmedArn(object) === arn || otherUid === creator)) return { ...id, namespace, name }
    }
    this.#recent.set(arn, { id, uid })
    return undefined
  }

  [Symbol.dispose](): void {
    this.#uses[Symbol.dispose]()
  }
}
