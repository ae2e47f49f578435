// The commands of packages, by their groups of the command line.
export { pkgCommands } from './pkg.ts'
