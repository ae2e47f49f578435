// The built-in kinds of the server: start with builtinResources().
export { builtinResources } from './resources.ts'
export { builtinGroups } from './groups.ts'
export { builtinSchema } from './tables.ts'
export { defaultPrinter } from './printers/column.ts'
export { typedForm, zeroForm, zeroStatus } from './typed-form.ts'
export type { TypedForm } from './typed-form.ts'
