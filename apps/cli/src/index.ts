export { main, version } from './main.ts'
