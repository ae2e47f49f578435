// Records the rights that a manager has made use of, as rules for RBAC. Start with RecordedAccess.
import type { ApiRequest, Impersonation, Transport } from '@fairlead/client'
import type { PolicyRule } from '../policy-rule.ts'

/** The rights that requests through {@link RecordedAccess.over} needed. */
export class RecordedAccess {
  /** Verbs by `group/resource`. */
  readonly #verbs = new Map<string, Set<string>>()

  /** Returns a transport that records the requests that it forwards, but not those of impersonated users. */
  over(transport: Transport): Transport {
    return {
      address: transport.address,
      request: (request) => {
        this.#record(request, verbsOf(request))
        return transport.request(request)
      },
      watch: (request) => {
        this.#record(request, ['watch'])
        return transport.watch(request)
      },
      as: (who) => {
        this.#add('', impersonated(who), ['impersonate'])
        return transport.as(who)
      },
      ...(transport.withLogin && { withLogin: (login) => transport.withLogin!(login) }),
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    }
  }

  /** Returns the rules: one for the resources of a group that need the same verbs. */
  rules(): readonly PolicyRule[] {
    const resources = new Map<string, { group: string; verbs: readonly string[]; names: string[] }>()
    for (const [id, used] of [...this.#verbs].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
      const [group = '', resource = ''] = id.split(/\/(.*)/s)
      const verbs = verbOrder.filter((verb) => used.has(verb))
      const same = `${group}/${verbs.join()}`
      const rule = resources.get(same) ?? { group, verbs, names: [] }
      resources.set(same, rule)
      rule.names.push(resource)
    }
    return Array.from(resources.values(), ({ group, verbs, names }) => ({
      apiGroups: [group],
      resources: names,
      verbs,
    }))
  }

  #record({ path }: ApiRequest, verbs: readonly string[]): void {
    const target = targetOf(path)
    if (target === undefined) return
    const { group, resource, subresource, name } = target
    const isCollection = name === undefined
    this.#add(
      group,
      subresource === undefined ? resource : `${resource}/${subresource}`,
      verbs.map((verb) => (isCollection ? (ofCollections[verb] ?? verb) : verb)),
    )
  }

  #add(group: string, resource: string, verbs: readonly string[]): void {
    const id = `${group}/${resource}`
    const known = this.#verbs.get(id) ?? new Set()
    this.#verbs.set(id, known)
    for (const verb of verbs) known.add(verb)
  }
}

const verbOrder = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'impersonate']
const ofCollections: Readonly<Record<string, string>> = { get: 'list', delete: 'deletecollection' }

/** Returns the verbs of a request for one object. Server-side apply may create the object. */
function verbsOf({ method, path, contentType }: ApiRequest): readonly string[] {
  switch (method) {
    case 'GET':
      return ['get']
    case 'POST':
      return ['create']
    case 'PUT':
      return ['update']
    case 'PATCH':
      return contentType === 'application/apply-patch+yaml' && targetOf(path)?.subresource === undefined
        ? ['create', 'patch']
        : ['patch']
    case 'DELETE':
      return ['delete']
  }
}

interface Target {
  readonly group: string
  readonly resource: string
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** Returns what a path addresses; undefined for paths of no resource, which discovery reads. */
function targetOf(path: string): Target | undefined {
  const [, root, ...rest] = path.split('/')
  if (root !== 'api' && root !== 'apis') return undefined
  const [group, segments] = root === 'api' ? ['', rest.slice(1)] : [rest[0] ?? '', rest.slice(2)]
  // `/namespaces/a` and its status address the namespace, longer paths what is in it.
  const isInNamespace = segments[0] === 'namespaces' && segments.length > 2 && !ofNamespaces.has(segments[2]!)
  const [resource, name, subresource] = isInNamespace ? segments.slice(2) : segments
  return resource === undefined ? undefined : { group, resource, name, subresource }
}

const ofNamespaces: ReadonlySet<string> = new Set(['status', 'finalize'])

function impersonated({ user }: Impersonation): string {
  return user.startsWith('system:serviceaccount:') ? 'serviceaccounts' : 'users'
}
