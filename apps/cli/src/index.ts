export { main } from './main.ts'
export { program, version } from './program.ts'
