// An index of the stored roles and bindings, parsed once, by subject. Watches the store.
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue, UserInfo } from '@fairlead/kube'
import type { Change, Store } from '../../storage/store.ts'
import { serviceAccountName } from '../../identity/well-known-users.ts'
import type { PolicyRule } from './policy-rule.ts'

/** A subject of a binding. */
export interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace: string
}

/** The role of a binding. */
export interface RoleRef {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

/** A RoleBinding, or a ClusterRoleBinding with namespace ''. */
export interface Binding {
  readonly namespace: string
  readonly name: string
  readonly roleRef: RoleRef
  readonly subjects: readonly Subject[]
}

/** A binding that matches a user, with its first matching subject. */
export interface Grant {
  readonly binding: Binding
  readonly subject: Subject
}

/** The read interface of {@link RoleIndex}. */
export interface RoleReader {
  /** Returns the rules of a role; undefined when it does not exist. `namespace` is that of the binding. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined
  /**
   * Returns the cluster-wide grants of a user, then those of a namespace ('' for none), sorted by name of the binding.
   */
  grantsOf(user: UserInfo, namespace: string): readonly Grant[]
}

const clusterRoles = 'clusterroles.rbac.authorization.k8s.io'
const roles = 'roles.rbac.authorization.k8s.io'
const clusterRoleBindings = 'clusterrolebindings.rbac.authorization.k8s.io'
const roleBindings = 'rolebindings.rbac.authorization.k8s.io'

/** The index of roles and bindings. */
export class RoleIndex implements RoleReader, Disposable {
  /** By key; keys of namespaced roles contain a slash, those of cluster roles do not. */
  readonly #roles = new Map<string, readonly PolicyRule[]>()
  readonly #bindings = new Map<string, Binding>()
  /** Namespace ('' for cluster-wide) -> subject -> bindings by key. */
  readonly #bySubject = new Map<string, Map<string, Map<string, Binding>>>()
  readonly #watches: Disposable[] = []

  private constructor() {}

  /** Reads the stored roles and bindings and watches their changes. */
  static async follow(store: Store): Promise<RoleIndex> {
    const index = new RoleIndex()
    for (const resource of [clusterRoles, roles, clusterRoleBindings, roleBindings]) {
      const { entries, revision } = await store.list(resource)
      for (const entry of entries) index.#apply({ type: 'put', entry, previous: undefined })
      index.#watches.push(store.watch(resource, revision, (change) => index.#apply(change)))
    }
    return index
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches) watch[Symbol.dispose]()
  }

  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.#roles.get(roleRef.kind === 'Role' ? `${namespace}/${roleRef.name}` : roleRef.name)
  }

  grantsOf(user: UserInfo, namespace: string): readonly Grant[] {
    const cluster = this.#grantsIn(user, '')
    return namespace === '' ? cluster : [...cluster, ...this.#grantsIn(user, namespace)]
  }

  #grantsIn(user: UserInfo, namespace: string): Grant[] {
    const subjects = this.#bySubject.get(namespace)
    if (subjects === undefined) return []
    const found = new Map<string, Binding>()
    for (const id of [`User ${user.name}`, ...user.groups.map((group) => `Group ${group}`)]) {
      const bindings = subjects.get(id)
      if (bindings !== undefined) for (const [key, binding] of bindings) found.set(key, binding)
    }
    const grants: Grant[] = []
    for (const binding of found.values()) {
      const subject = binding.subjects.find((candidate) => matchesUser(candidate, binding.namespace, user))
      if (subject !== undefined) grants.push({ binding, subject })
    }
    return grants.length < 2
      ? grants
      : grants.toSorted((left, right) => (left.binding.name < right.binding.name ? -1 : 1))
  }

  #apply({ type, entry }: Change): void {
    const { resource, key, object } = entry
    const isDeleted = type === 'delete'
    if (resource === clusterRoles || resource === roles) {
      if (isDeleted) this.#roles.delete(key)
      else this.#roles.set(key, readRules(object.rules))
      return
    }
    // A ClusterRoleBinding's key has no slash, so the keys of the two kinds never collide.
    const old = this.#bindings.get(key)
    if (old !== undefined) this.#removeBinding(key, old)
    if (isDeleted) this.#bindings.delete(key)
    else this.#addBinding(key, readBinding(object))
  }

  #addBinding(key: string, binding: Binding): void {
    this.#bindings.set(key, binding)
    const subjects = getOrCreate(this.#bySubject, binding.namespace)
    for (const subject of binding.subjects)
      getOrCreate(subjects, subjectId(subject, binding.namespace)).set(key, binding)
  }

  #removeBinding(key: string, binding: Binding): void {
    const subjects = this.#bySubject.get(binding.namespace)
    if (subjects === undefined) return
    for (const subject of binding.subjects) {
      const id = subjectId(subject, binding.namespace)
      const bindings = subjects.get(id)
      bindings?.delete(key)
      if (bindings?.size === 0) subjects.delete(id)
    }
    if (subjects.size === 0) this.#bySubject.delete(binding.namespace)
  }
}

function getOrCreate<Key, Inner, Value>(map: Map<Key, Map<Inner, Value>>, key: Key): Map<Inner, Value> {
  let inner = map.get(key)
  if (inner === undefined) {
    inner = new Map()
    map.set(key, inner)
  }
  return inner
}

/** Returns the key of a subject in the index: service accounts are indexed by their user name. */
function subjectId(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${subject.name}`
  return `User ${serviceAccountName(subject.namespace === '' ? bindingNamespace : subject.namespace, subject.name)}`
}

function matchesUser(subject: Subject, bindingNamespace: string, user: UserInfo): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.name === user.name
    case 'Group':
      return user.groups.includes(subject.name)
    case 'ServiceAccount': {
      const namespace = subject.namespace === '' ? bindingNamespace : subject.namespace
      return namespace !== '' && user.name === serviceAccountName(namespace, subject.name)
    }
    default:
      return false
  }
}

/** Reads the rules of a stored role; malformed values are skipped: validation has accepted them on purpose or never. */
export function readRules(value: JsonValue | undefined): readonly PolicyRule[] {
  if (!Array.isArray(value)) return []
  return value.filter(isJsonObject).map((rule) => ({
    verbs: readStrings(rule.verbs),
    apiGroups: readStrings(rule.apiGroups),
    resources: readStrings(rule.resources),
    resourceNames: readStrings(rule.resourceNames),
    nonResourceURLs: readStrings(rule.nonResourceURLs),
  }))
}

/** Reads the role of a binding; its group defaults to RBAC's own. */
export function readRoleRef(binding: JsonObject): RoleRef {
  const roleRef = isJsonObject(binding.roleRef) ? binding.roleRef : {}
  const apiGroup = readString(roleRef.apiGroup)
  return {
    apiGroup: apiGroup === '' ? 'rbac.authorization.k8s.io' : apiGroup,
    kind: readString(roleRef.kind),
    name: readString(roleRef.name),
  }
}

function readBinding(object: JsonObject): Binding {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {}
  const subjects = Array.isArray(object.subjects) ? object.subjects.filter(isJsonObject) : []
  return {
    namespace: readString(metadata.namespace),
    name: readString(metadata.name),
    roleRef: readRoleRef(object),
    subjects: subjects.map((subject) => ({
      kind: readString(subject.kind),
      name: readString(subject.name),
      namespace: readString(subject.namespace),
    })),
  }
}

function readString(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

function readStrings(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
