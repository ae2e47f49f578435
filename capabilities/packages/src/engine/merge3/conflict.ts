// Conflicts: things that upstream and the local package changed in different ways.
import type { Node } from 'yaml'
import { yamlLibrary } from '@fairlead/kube'
import { PackageError } from '../package-error.ts'
import { formatDocument } from '../yaml/format.ts'

/** The side that decides where both changed one thing; `fail` makes every conflict an error. */
export type ConflictPolicy = 'upstream' | 'local' | 'fail'

/** One thing that upstream and the local package changed in different ways. */
export interface MergeConflict {
  /** File of the package. */
  readonly file: string
  /** The resource: `apps/Deployment/prod/web`; absent for a file that is no resource. */
  readonly resource?: string
  /** Path of the field: `spec.template.spec.containers[name=app].image`; absent for a whole resource or file. */
  readonly path?: string
  /** YAML of the value in the base; undefined where it is absent. Base, ours and theirs as in git. */
  readonly base: string | undefined
  /** YAML of the local value. */
  readonly ours: string | undefined
  /** YAML of the value upstream. */
  readonly theirs: string | undefined
  /**
   * The side that was taken: the policy's, except for whole resources and files, where a local deletion, and what was
   * changed locally and deleted upstream, always stay.
   */
  readonly taken: 'upstream' | 'local'
}

/** Returns the YAML of a node without the final line break. */
export function yamlOf(node: Node | null | undefined): string | undefined {
  if (node === undefined) return undefined
  if (node === null) return 'null'
  const { Document, isCollection } = yamlLibrary()
  const document = new Document()
  const copy = node.clone() as Node
  if (isCollection(copy)) delete copy.commentBefore
  document.contents = copy as typeof document.contents
  return formatDocument(document).trimEnd()
}

/** @throws PackageError `MergeConflict` when the policy refuses the conflicts */
export function refuseConflicts(conflicts: readonly MergeConflict[], policy: ConflictPolicy): void {
  if (policy !== 'fail' || conflicts.length === 0) return
  const lines = conflicts.map((conflict) => `  ${describeConflict(conflict)}`)
  const count = conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`
  throw new PackageError('MergeConflict', `${count} between upstream and local changes:\n${lines.join('\n')}`)
}

/** Returns the conflict on one line: `a.yaml: ConfigMap/web: data.mode: base "one", ours "mine", theirs "two"`. */
export function describeConflict({ file, resource, path, base, ours, theirs }: MergeConflict): string {
  const place = [file, resource, path].filter((part) => part !== undefined).join(': ')
  if (path === undefined) return `${place}: ${change(base, ours)} locally, ${change(base, theirs)} upstream`
  return `${place}: base ${inline(base)}, ours ${inline(ours)}, theirs ${inline(theirs)}`
}

function change(base: string | undefined, value: string | undefined): string {
  return value === undefined ? 'deleted' : base === undefined ? 'added' : 'changed'
}

function inline(value: string | undefined): string {
  if (value === undefined) return '(absent)'
  const line = value.replaceAll(/\s*\n\s*/g, ' ')
  return line.length > 60 ? `${line.slice(0, 57)}...` : line
}
