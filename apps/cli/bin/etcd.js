// The `etcd` of a folder for KUBEBUILDER_ASSETS. Test environments start it beside the API server, which keeps its own
// store: it answers health checks, and nothing else.
import { createServer } from 'node:http'

const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  process.stdout.write(`Answers the health checks of test environments; the API server of Fairlead keeps its own store.

Flags:
  --listen-client-urls URL  where to answer (default http://127.0.0.1:2379)
  --parent-pid NUMBER       stop when the parent process is no longer this one

All other flags are ignored.
`)
  process.exit(0)
}
if (args.includes('--version')) {
  process.stdout.write('etcd Version: 3.6.0 (health checks of Fairlead only)\n')
  process.exit(0)
}

const urls = (valueOf('listen-client-urls') ?? 'http://127.0.0.1:2379').split(',').map((url) => new URL(url))
const bodies = {
  '/health': '{"health":"true","reason":""}',
  '/readyz': 'ok',
  '/livez': 'ok',
  '/version': '{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}',
}
const servers = urls.map((url) => {
  const server = createServer((request, response) => {
    const body = bodies[request.url.split('?')[0]]
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json', connection: 'close' })
    response.end(body)
  })
  server.on('error', (error) => {
    process.stderr.write(`etcd: cannot listen at ${url.href}: ${error.message}\n`)
    process.exit(1)
  })
  return server.listen(Number(url.port || 2379), url.hostname.replace(/^\[|\]$/g, ''))
})
const stop = () => servers.forEach((server) => server.close())
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop)
const parent = valueOf('parent-pid')
// Polled, because there is no event for the end of a parent.
if (parent !== undefined) setInterval(() => process.ppid === Number(parent) || stop(), 1000).unref()

function valueOf(name) {
  for (const [index, arg] of args.entries()) {
    const [, found, value] = /^--?([^=]+)(?:=(.*))?$/.exec(arg) ?? []
    if (found === name) return value ?? args[index + 1]
  }
  return undefined
}
