// PorchPackages: one object for all revisions of a package. Read only.
import type { RestStorage, StorageChange, StorageKey } from '@fairlead/controller'
import { formatTime } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { porchGroup } from '../api.ts'
import type { PorchPackage } from '../api.ts'
import { packageObjectName, stableUid } from '../engine/names.ts'
import type { PackageRepository } from '../runtime/package-repository.ts'
import { maxNotified } from '../runtime/revision-changes.ts'
import type { Repositories } from '../runtime/repositories.ts'
import type { Revision, RevisionChange } from '../runtime/revision.ts'

/** The storage. */
export class PackageStorage implements RestStorage {
  readonly #repositories: Repositories
  readonly #listeners = new Set<(change: StorageChange) => void>()
  /** Packages as last notified, by repository and name. */
  readonly #known = new WeakMap<PackageRepository, Map<string, PorchPackage>>()

  constructor(repositories: Repositories) {
    this.#repositories = repositories
    repositories.subscribe((repository, changes) => this.#changed(repository, changes))
  }

  async get({ namespace, name }: StorageKey, signal: AbortSignal): Promise<KubeObject | undefined> {
    await this.#repositories.ready(namespace, signal)
    const repository = this.#repositories.get({ namespace, name: name.split('.')[0]! })
    return repository === undefined ? undefined : packagesOf(repository).get(name)
  }

  async list(namespace: string | undefined, signal: AbortSignal): Promise<readonly KubeObject[]> {
    await this.#repositories.ready(namespace, signal)
    return this.#repositories.list(namespace).flatMap((repository) => [...packagesOf(repository).values()])
  }

  watch(listener: (change: StorageChange) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  #changed(repository: PackageRepository, changes: readonly RevisionChange[]): void {
    const { namespace, repository: name } = repository.settings
    const isOpen = this.#repositories.get({ namespace, name }) === repository
    const isReplaced = changes.length > maxNotified
    const known = this.#known.get(repository)
    // Only the packages of the changes are made anew: those of large repositories would be garbage after every write.
    const changed =
      known === undefined || !isOpen || isReplaced
        ? undefined
        : new Set(changes.map(({ before, after }) => (after ?? before)!.packageName))
    const packages = known ?? new Map<string, PorchPackage>()
    const after = isOpen ? packagesOf(repository, changed) : new Map<string, PorchPackage>()
    const keys = changed && [...changed].map((packageName) => packageObjectName(name, packageName))
    this.#known.set(repository, packages)
    for (const key of keys ?? new Set([...packages.keys(), ...after.keys()])) {
      const [previous, object] = [packages.get(key), after.get(key)]
      if (object === undefined) packages.delete(key)
      else packages.set(key, object)
      if (!isReplaced) this.#notify(previous, object)
    }
    if (isReplaced) for (const listener of this.#listeners) listener({ type: 'replaced' })
  }

  #notify(previous: PorchPackage | undefined, object: PorchPackage | undefined): void {
    if (object === undefined && previous === undefined) return
    if (previous !== undefined && previous.status?.latestRevision === object?.status?.latestRevision) return
    for (const listener of this.#listeners)
      if (object === undefined) listener({ type: 'delete', object: previous!, previous })
      else listener({ type: 'put', object, previous })
  }
}

/** Returns the packages of a repository by object name: all, or those with one of the names. */
function packagesOf(
  { settings, revisions }: PackageRepository,
  names?: ReadonlySet<string>,
): ReadonlyMap<string, PorchPackage> {
  const byPackage = new Map<string, Revision[]>()
  for (const revision of revisions.values()) {
    if (names?.has(revision.packageName) === false) continue
    const others = byPackage.get(revision.packageName)
    if (others === undefined) byPackage.set(revision.packageName, [revision])
    else others.push(revision)
  }
  const { namespace, repository } = settings
  return new Map(
    [...byPackage].map(([packageName, all]) => {
      const name = packageObjectName(repository, packageName)
      const object: PorchPackage = {
        apiVersion: `${porchGroup}/v1alpha1`,
        kind: 'PorchPackage',
        metadata: {
          name,
          namespace,
          uid: stableUid('package:', namespace, name),
          generation: 1,
          creationTimestamp: formatTime(Math.min(...all.map(({ createdAt }) => createdAt)) * 1000),
        },
        spec: { packageName, repository },
        status: { latestRevision: Math.max(0, ...all.map(({ revision }) => revision)) },
      }
      return [name, object]
    }),
  )
}
