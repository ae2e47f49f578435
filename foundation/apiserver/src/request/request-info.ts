// RequestInfo: the meaning of a request's method, path and `watch` parameter, parsed once per request. The rules are
// those of k8s.io/apiserver, pkg/endpoints/request/requestinfo.go.
import { booleanParameter } from './query.ts'

/** A request to `/api/v1/...` or `/apis/<group>/<version>/...` with at least a resource. */
export interface ResourceRequestInfo {
  readonly isResourceRequest: true
  /**
   * As RBAC names it: get list watch create update patch delete deletecollection; the lower-case method where there is
   * none.
   */
  readonly verb: string
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  /** '' when the path names none. */
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  /** Segments after the subresource (`pods/a/proxy/some/path`). */
  readonly rest: readonly string[]
  /** The path has the deprecated form `/api/v1/watch/...`. */
  readonly isWatchPath: boolean
}

/** Any other request: discovery, health, version, routes. */
export interface NonResourceRequestInfo {
  readonly isResourceRequest: false
  /** The lower-case method. */
  readonly verb: string
  readonly segments: readonly string[]
}

/** The parsed head of a request. */
export type RequestInfo = ResourceRequestInfo | NonResourceRequestInfo

/**
 * A path has an escape that is not UTF-8.
 * @internal becomes a 400
 */
export class MalformedPath extends Error {
  readonly code = 'MalformedPath'
}

/**
 * Returns the decoded segments of a percent-encoded path.
 * @throws MalformedPath
 */
export function pathSegments(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeSegment)
}

/** Returns the info of a request that is not for a resource. */
export function nonResourceInfo(method: string, segments: readonly string[]): NonResourceRequestInfo {
  return { isResourceRequest: false, verb: method.toLowerCase(), segments }
}

/** Parses the decoded segments of a path together with method and query. */
export function requestInfo(method: string, segments: readonly string[], query: URLSearchParams): RequestInfo {
  let rest: string[]
  let group = ''
  if (segments[0] === 'api') {
    rest = segments.slice(1)
  } else if (segments[0] === 'apis') {
    group = segments[1] ?? ''
    rest = segments.slice(2)
  } else {
    return nonResourceInfo(method, segments)
  }
  const version = rest.shift()
  if (version === undefined || (segments[0] === 'apis' && group === '')) return nonResourceInfo(method, segments)
  const isWatchPath = rest[0] === 'watch'
  if (isWatchPath) rest.shift()
  if (rest.length === 0) return nonResourceInfo(method, segments)
  const parts = resourceParts(rest)
  const { plural, namespace, name, subresource } = parts
  const verb = verbOf(method, name !== '', isWatchPath, query)
  return {
    isResourceRequest: true,
    verb,
    group,
    version,
    plural,
    namespace,
    name,
    subresource,
    rest: parts.rest,
    isWatchPath,
  }
}

function verbOf(method: string, hasName: boolean, isWatchPath: boolean, query: URLSearchParams): string {
  switch (method) {
    case 'GET':
      return isWatchPath || (!hasName && booleanParameter(query, 'watch') === true) ? 'watch' : hasName ? 'get' : 'list'
    case 'HEAD':
      return isWatchPath ? 'watch' : hasName ? 'get' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return hasName ? 'delete' : 'deletecollection'
    default:
      return method.toLowerCase()
  }
}

function resourceParts(
  parts: readonly string[],
): Pick<ResourceRequestInfo, 'plural' | 'namespace' | 'name' | 'subresource' | 'rest'> {
  const [first, second, third] = parts
  const isNamespaceItself =
    first === 'namespaces' && (third === undefined || third === 'status' || third === 'finalize')
  if (first !== 'namespaces' || isNamespaceItself) {
    return { plural: first ?? '', namespace: '', name: second ?? '', subresource: third ?? '', rest: parts.slice(3) }
  }
  return {
    plural: third ?? '',
    namespace: second ?? '',
    name: parts[3] ?? '',
    subresource: parts[4] ?? '',
    rest: parts.slice(5),
  }
}

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new MalformedPath(`invalid URL escape in "${segment}"`)
  }
}
