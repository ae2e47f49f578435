// Reads a repository for the first time, and lists its revisions: a process of its own, so that its memory is theirs.
// Arguments: the folder of a bare repository. Prints the figures as JSON.
import { PackageRevisionKind } from '@fairlead/packages'
import { PackageCluster } from './cluster.ts'

const repository = process.argv[2]!
// The timers of the clock do not keep the process alive.
const alive = setInterval(() => {}, 1000)
await using cluster = await PackageCluster.start()
const before = cluster.processes
const begin = performance.now()
await cluster.register('blueprints', repository)
const indexed = performance.now()
const processes = cluster.processes - before
const { items } = await cluster.client.list(PackageRevisionKind, { namespace: 'default' })
const listed = performance.now()
const kilobytes = process.resourceUsage().maxRSS
console.log(
  JSON.stringify({
    revisions: items.length,
    index: indexed - begin,
    list: listed - indexed,
    processes,
    megabytes: kilobytes / 1024,
  }),
)
clearInterval(alive)
