// Starts a program of this package, in plain JavaScript so that any Node can read it: finds a Node that is new enough,
// turns the compile cache on, and imports the program from bundle/ (as published) or from src/ (in the repository, by
// type stripping; design decision 1b).
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const here = dirname(fileURLToPath(import.meta.url))
const [major, minor] = process.versions.node.split('.').map(Number)

/** Runs the `main` of a module of src/, or of its bundle; `bundled` is the name of that file. */
export async function launch(source, bundled) {
  if (major > 24 || (major === 24 && minor >= 15)) await start(join(here, '../src', source), bundled)
  else restart()
}

async function start(source, bundled) {
  endWithLauncher()
  const inRepository = existsSync(source)
  // V8 may crash when it replaces wrappers of WebAssembly imports while threads start and end (nodejs/node#64500), and
  // the sandbox of snippets is a thread with WebAssembly: the wrappers stay as they are.
  setFlagsFromString('--wasm-wrapper-tiering-budget=2147483647')
  enableCompileCache()
  if (inRepository) {
    module.registerHooks({
      resolve: (specifier, context, next) =>
        next(specifier, { ...context, conditions: [...context.conditions, '@fairlead/source'] }),
    })
  }
  const { main } = await import(pathToFileURL(inRepository ? source : join(here, '../bundle', bundled)).href)
  await main(process.argv.slice(2))
}

/**
 * Turns the compile cache on, in a folder of the user alone: Node's own is in /tmp, where others could put code of
 * theirs into it. Without such a folder there is no cache.
 */
function enableCompileCache() {
  // On Windows the temporary folder is the user's own.
  if (process.env.NODE_COMPILE_CACHE !== undefined || process.platform === 'win32') return module.enableCompileCache()
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'fairlead', 'compile-cache')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { uid, mode } = statSync(folder)
    if (uid === process.getuid() && (mode & 0o022) === 0) module.enableCompileCache(folder)
  } catch {
    // The command works without a cache.
  }
}

/** Runs the same command with the Node that npm installed beside us, or says in one line how to get one. */
function restart() {
  const node = installedNode()
  if (node === undefined) {
    console.error(
      `fairlead needs Node 24.15 or newer and this is ${process.version}: install it (https://nodejs.org, or "brew install node@24" on macOS), then run the same command again.`,
    )
    process.exit(1)
  }
  const args = [...process.execArgv, ...process.argv.slice(1)]
  // The new Node takes the place of this process where Node can do that (22.15), so that signals have one receiver.
  if (process.execve !== undefined && process.platform !== 'win32') process.execve(node, [node, ...args], process.env)
  const env = { ...process.env, [launchedMark]: '1' }
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}

/** Set for the process that {@link restart} starts. */
const launchedMark = 'FAIRLEAD_LAUNCHED'

/** Stops this process when the one that waits for it is killed: it would go on without being seen. */
function endWithLauncher() {
  if (process.env[launchedMark] !== '1' || process.channel === undefined) return
  // Processes that this one starts have not been launched so.
  delete process.env[launchedMark]
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

function installedNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`node-${platform}-${process.arch}/package.json`))
    const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
