// Which strategy a built-in kind has.
import type { Strategy } from '../../registry/strategy.ts'
import type { ResourceRow } from '../tables.ts'

const strategies: Readonly<Record<string, Strategy>> = {}

/** Groups whose kinds count their generation although nothing else is special about them. */
const statusSubresource = (row: ResourceRow): boolean => row.subresources?.some(({ name }) => name === 'status') ?? false

/** The behaviour of a kind: what is common to all built-in kinds, and what it adds. */
export function strategyOf(group: string, row: ResourceRow): Strategy {
  return { allowUnconditionalUpdate: true, defaultPropagation: 'Background', hasStatus: statusSubresource(row), ...strategies[`${group}/${row.kind}`] }
}
