// Public API of @fairlead/references.
export type { FieldReference } from './engine/reference-table.ts'
