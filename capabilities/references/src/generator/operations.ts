// Types of operations by the prefix of their names (originals/ack.md §2.2).
import type { GeneratorConfig } from './generator-config.ts'
import { isPlural, singularName } from './names.ts'

/** Types of operations. */
export type OperationType =
  | 'Create'
  | 'CreateBatch'
  | 'Replace'
  | 'Update'
  | 'Delete'
  | 'Get'
  | 'List'
  | 'GetAttributes'
  | 'SetAttributes'
  | 'Unknown'

/** Type and resource of an operation. */
export interface ClassifiedOperation {
  readonly type: OperationType
  /** The operation's own name when nothing says which resource it is about. */
  readonly resource: string
}

const configured: Readonly<Record<string, OperationType>> = {
  create: 'Create',
  createbatch: 'CreateBatch',
  delete: 'Delete',
  replace: 'Replace',
  update: 'Update',
  get: 'Get',
  readone: 'Get',
  read_one: 'Get',
  list: 'List',
  readmany: 'List',
  read_many: 'List',
  getattributes: 'GetAttributes',
  get_attributes: 'GetAttributes',
  setattributes: 'SetAttributes',
  set_attributes: 'SetAttributes',
}

/** Returns the types that the configuration gives an operation, else the one that its name says. */
export function classify(operation: string, config: GeneratorConfig): readonly ClassifiedOperation[] {
  const given = config.operations.get(operation)
  const byName = inferred(operation, config)
  if (given === undefined || (given.types.length === 0 && given.resources.length === 0)) return [byName]
  const types =
    given.types.length === 0 ? [byName.type] : given.types.map((type) => configured[type.toLowerCase()] ?? 'Unknown')
  const resources = given.resources.length === 0 ? [byName.resource] : given.resources
  return types.flatMap((type) => resources.map((resource) => ({ type, resource })))
}

/** Returns the type of an operation by its name. */
function inferred(operation: string, { resources }: GeneratorConfig): ClassifiedOperation {
  const after = (prefix: string): string | undefined =>
    operation.startsWith(prefix) && operation.length > prefix.length ? operation.slice(prefix.length) : undefined
  const names = new Set([...resources.keys()].map((name) => name.toLowerCase()))
  // Some resources have plural names, such as DhcpOptions: those that the configuration lists.
  const isListed = (name: string): boolean => names.has(name.toLowerCase())
  const kept = (name: string): string => (isListed(name) ? name : singularName(name))
  const attributes = (verb: string): string | undefined => {
    const name = after(verb)
    return name?.endsWith('Attributes') && name !== 'Attributes' ? name.slice(0, -'Attributes'.length) : undefined
  }
  const one = (type: OperationType, resource: string): ClassifiedOperation => ({ type, resource })
  const replaced = after('CreateOrUpdate')
  if (replaced !== undefined) return one('Replace', replaced)
  const batch = after('BatchCreate') ?? after('CreateBatch')
  if (batch !== undefined) return one('CreateBatch', kept(batch))
  const created = after('Create')
  if (created !== undefined)
    return isPlural(created) && !isListed(created) ? one('CreateBatch', singularName(created)) : one('Create', created)
  const updated = after('Modify') ?? after('Update')
  if (updated !== undefined) return one('Update', updated)
  const deleted = after('Delete')
  if (deleted !== undefined) return one('Delete', deleted)
  const [read, written] = [attributes('Get'), attributes('Set')]
  if (read !== undefined) return one('GetAttributes', read)
  if (written !== undefined) return one('SetAttributes', written)
  const described = after('Describe')
  if (described !== undefined) return isPlural(described) ? one('List', kept(described)) : one('Get', described)
  const got = after('Get')
  if (got !== undefined) return isPlural(got) && !isListed(got) ? one('List', singularName(got)) : one('Get', got)
  const listed = after('List')
  return listed === undefined ? one('Unknown', operation) : one('List', kept(listed))
}
