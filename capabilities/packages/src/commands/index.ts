// The commands of packages, by their groups of the command line. Each command loads its implementation when it runs, so
// that `--help` stays fast.
export { pkgCommands } from './pkg.ts'
export { repoCommands } from './repo/index.ts'
export { rpkgCommands } from './rpkg/index.ts'
