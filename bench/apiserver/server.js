// The server that is measured: `node server.js FOLDER source|built` serves a sqlite store and prints one line of JSON
// when its port is open. Plain JavaScript, because the built form must not pay for type stripping; memory and compile
// cache as in the command.
import module from 'node:module'
import { setFlagsFromString } from 'node:v8'

const [folder, form] = process.argv.slice(2)
module.enableCompileCache()
if (form === 'source') {
  module.registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: [...context.conditions, '@fairlead/source'] }),
  })
}
const { ApiServer, sqlite } = await import('@fairlead/apiserver')
const server = await ApiServer.start({
  storage: sqlite(folder),
  authorization: 'RBAC',
  tokens: [{ token: 'bench', user: { name: 'bench', groups: ['system:masters'] } }],
})
const { port, certificateAuthority } = await server.listen({ port: 0 })
setFlagsFromString('--memory-saver-mode')
process.stdout.write(`${JSON.stringify({ port, ca: certificateAuthority })}\n`)
process.once('SIGTERM', () => void server[Symbol.asyncDispose]().then(() => process.exit(0)))
