// `pkg get` and `pkg update` in a process of their own:
// node update-process.ts get|update ARGUMENTS
import { pkgCommands } from '@fairlead/packages/commands'

const [name, ...args] = process.argv.slice(2)
const command = pkgCommands.find((one) => one.name === name)!
const defaults = {
  strategy: name === 'get' ? 'resource-merge' : undefined,
  onConflict: 'upstream',
  dryRun: false,
  forDeployment: false,
}
process.exitCode = await command.run({
  arguments: args,
  options: defaults,
  stdin: async () => '',
  out: console.log,
  err: () => undefined,
  client: () => Promise.reject(new Error('the command uses no cluster')),
  signal: new AbortController().signal,
})
