// Names of package revisions, and the refs of their repository, as Porch makes them.
import { createHash } from 'node:crypto'
import { dns1123Label, dns1123Subdomain } from '@fairlead/kube'

/** The parts that name a package revision. */
export interface RevisionKey {
  readonly repository: string
  /** Path of the package in the repository, `net/web`. */
  readonly packageName: string
  readonly workspaceName: string
}

/** Returns the object name of a revision: `edge-1.net.web.packagevariant-2`. */
export function packageRevisionName({ repository, packageName, workspaceName }: RevisionKey): string {
  return `${packageObjectName(repository, packageName)}.${workspaceName}`
}

/** Returns the object name of a package (kind PorchPackage): `edge-1.net.web`. */
export function packageObjectName(repository: string, packageName: string): string {
  return `${repository}.${packageName.replaceAll('/', '.').replace(/^\.+|\.+$/g, '')}`
}

/** Returns the parts of an object name; every dot of the package is a slash of its path. Undefined for another name. */
export function parsePackageRevisionName(name: string): RevisionKey | undefined {
  const version = /^(.+)\.(v[\d.]*\d)$/.exec(name) ?? /^(.+)\.([^.]+)$/.exec(name)
  const [, object, workspaceName] = version ?? []
  const dot = object?.indexOf('.') ?? -1
  if (object === undefined || workspaceName === undefined || dot < 1) return undefined
  return { repository: object.slice(0, dot), packageName: object.slice(dot + 1).replaceAll('.', '/'), workspaceName }
}

/** Returns the branch of a draft. */
export function draftBranch(packageName: string, workspaceName: string): string {
  return `drafts/${packageName}/${workspaceName}`
}

/** Returns the branch of a proposed revision. */
export function proposedBranch(packageName: string, workspaceName: string): string {
  return `proposed/${packageName}/${workspaceName}`
}

/** Returns the tag of a published revision. */
export function revisionTag(packageName: string, revision: number): string {
  return `${packageName}/v${revision}`
}

/** Returns the branch whose existence says that the deletion of a published revision is proposed. */
export function deletionProposedBranch(packageName: string, revision: number): string {
  return `deletionProposed/${packageName}/v${revision}`
}

/** Returns the number that the next published revision of a package gets. */
export function nextRevision(published: Iterable<number>): number {
  return 1 + Math.max(0, ...published)
}

/** Returns what is wrong with a package path, joined as Porch joins it; undefined when it is valid. */
export function packageNameError(packageName: string): string | undefined {
  const errors: string[] = []
  if (packageName.includes('//')) errors.push("consecutive '/' characters are not allowed")
  errors.push(...dns1123Label(packageName.replaceAll('/', '')))
  return errors.length === 0 ? undefined : errors.join(',')
}

/** Returns what is wrong with a workspace name; undefined when it is valid. */
export function workspaceNameError(workspaceName: string): string | undefined {
  const errors = dns1123Label(workspaceName)
  return errors.length === 0 ? undefined : errors.join(',')
}

/** Returns what is wrong with the parts of a revision or with the name that they make, as Porch reports it. */
export function packageRevisionNameError(key: RevisionKey): string | undefined {
  const { repository, packageName, workspaceName } = key
  const path = packageName.split('/').slice(0, -1).join('/')
  const last = packageName.slice(path === '' ? 0 : path.length + 1)
  const errors: string[] = []
  const part = (what: string, label: string, value: string, problem: string | undefined): void => {
    if (problem === undefined) return
    errors.push(
      `${what} part "${value}" of ${what === 'workspace name' ? 'package revision' : 'object'} name invalid\n`,
    )
    errors.push(`${label} ${value} invalid: ${problem}\n`)
  }
  part('repository', 'repository name', repository, labelError(repository))
  part('package path', 'path', path, path === '' ? undefined : packageNameError(path))
  part('package name', 'package name', last, labelError(last))
  part('workspace name', 'workspace name', workspaceName, workspaceNameError(workspaceName))
  const name = packageRevisionName(key)
  const problems = errors.length === 0 ? dns1123Subdomain(name) : []
  if (problems.length > 0)
    errors.push(
      `package revision kubernetes name "${name}" invalid\n`,
      `package revision kubernetes name ${name} invalid: ${problems.join('')}\n`,
    )
  return errors.length === 0 ? undefined : `package revision kubernetes resource name invalid:\n${errors.join('')}`
}

function labelError(value: string): string | undefined {
  const errors = dns1123Label(value)
  return errors.length === 0 ? undefined : errors.join(',')
}

/** Returns the existing package path that a new one would lie in or contain: packages do not nest. */
export function overlappingPackage(packageName: string, existing: Iterable<string>): string | undefined {
  for (const other of existing)
    if (
      other !== packageName &&
      (`${other}/`.startsWith(`${packageName}/`) || `${packageName}/`.startsWith(`${other}/`))
    )
      return other
  return undefined
}

/** Namespace of the UUIDs of Porch's objects. */
const uidNamespace = 'aac71d91-5c67-456f-8fd2-902ef6da820e'

/**
 * Returns the UID of an object: UUID version 5 of kind, API version, namespace and name, so that a revision that comes
 * back has the same one. `prefix` as Porch gives it: `packagerevision:`.
 */
export function stableUid(prefix: string, namespace: string, name: string): string {
  const space = Buffer.from(uidNamespace.replaceAll('-', ''), 'hex')
  const path = `${prefix}porch.kpt.dev/v1alpha1/${namespace.toLowerCase()}/${name.toLowerCase()}`
  const hash = createHash('sha1').update(space).update(path).digest().subarray(0, 16)
  hash[6] = (hash[6]! & 0x0f) | 0x50
  hash[8] = (hash[8]! & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
