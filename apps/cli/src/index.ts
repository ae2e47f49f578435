export { capabilities } from './capabilities.ts'
export type { CapabilityEntry } from './capabilities.ts'
export { main } from './main.ts'
export { program, version } from './program.ts'
