// What a URL path means: a resource with namespace, name and subresource, or anything else. The rules are those of Kubernetes' RequestInfo.

/** `/api/v1/...` or `/apis/<group>/<version>/...` with at least a resource. */
export interface ResourcePath {
  readonly kind: 'resource'
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
  /** The deprecated `/api/v1/watch/...` form. */
  readonly watch: boolean
}

/** Any other path: discovery, health, version, routes. */
export interface OtherPath {
  readonly kind: 'other'
  readonly segments: readonly string[]
}

/**
 * A path holds an escape that is not UTF-8.
 * @internal answered 400
 */
export class MalformedPath extends Error {
  readonly code = 'MalformedPath'
}

/**
 * The decoded segments of a percent-encoded path.
 * @throws MalformedPath
 */
export function pathSegments(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeSegment)
}

/**
 * Reads a percent-encoded path.
 * @throws MalformedPath
 */
export function parseRequestPath(path: string): ResourcePath | OtherPath {
  const segments = pathSegments(path)
  const other: OtherPath = { kind: 'other', segments }
  let rest: string[]
  let group = ''
  if (segments[0] === 'api') {
    rest = segments.slice(1)
  } else if (segments[0] === 'apis') {
    group = segments[1] ?? ''
    rest = segments.slice(2)
  } else {
    return other
  }
  const version = rest.shift()
  if (version === undefined || (segments[0] === 'apis' && group === '')) return other
  const watch = rest[0] === 'watch'
  if (watch) rest.shift()
  if (rest.length === 0) return other
  return { kind: 'resource', group, version, watch, ...resourceParts(rest) }
}

function resourceParts(
  parts: readonly string[],
): Pick<ResourcePath, 'plural' | 'namespace' | 'name' | 'subresource' | 'rest'> {
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
