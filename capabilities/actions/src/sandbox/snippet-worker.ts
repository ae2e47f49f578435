// The worker thread of the sandbox: QuickJS in WebAssembly, with a fresh runtime for each call and no access to Node.
import { parentPort } from 'node:worker_threads'
import { getQuickJS } from 'quickjs-emscripten'
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten'
import type { SnippetCall, SnippetReady, SnippetReply } from './snippet-messages.ts'

/** Bytes of stack within the sandbox; more than a snippet's recursion needs, less than the thread has. */
const stackBytes = 256 * 1024

/** Matches the first function of a source, which is the one that is called (originals/kappnav.md §1.7). */
const firstFunction = /\bfunction\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*\(/u

/**
 * Passes strings as JSON: the bridge to WebAssembly cuts them at the first NUL. Evaluated before the snippet can change
 * globals.
 */
const bridge = `(function () {
  var stringify = JSON.stringify
  return {
    parse: JSON.parse,
    toJson: function (value) { return value === null || value === undefined ? null : stringify('' + value) },
  }
})()`

const port = parentPort
if (port === null) throw new Error('snippet-worker runs as a worker thread only')
const quickjs = await getQuickJS()
port.on('message', (call: SnippetCall) => port.postMessage(run(quickjs, call)))
port.postMessage('ready' satisfies SnippetReady)

function run(module: QuickJSWASMModule, { source, args, limits }: SnippetCall): SnippetReply {
  const name = firstFunction.exec(source)?.[1]
  if (name === undefined)
    return { failure: 'it has no "function name(…)"; arrow functions and function expressions are not called' }
  using runtime = module.newRuntime()
  runtime.setMemoryLimit(limits.bytes)
  runtime.setMaxStackSize(stackBytes)
  const start = usedMilliseconds()
  let isLate = false
  runtime.setInterruptHandler(() => (isLate ||= usedMilliseconds() - start > limits.milliseconds))
  using context = runtime.newContext()
  const reply = call(context, source, name, args)
  return isLate ? { failure: `it took longer than ${limits.milliseconds} ms` } : reply
}

/** Returns the CPU time of the thread, so that load on the machine does not make snippets fail. */
function usedMilliseconds(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function call(context: QuickJSContext, source: string, name: string, args: readonly string[]): SnippetReply {
  const kept: QuickJSHandle[] = []
  const keep = (handle: QuickJSHandle): QuickJSHandle => {
    kept.push(handle)
    return handle
  }
  const failed = (error: QuickJSHandle): SnippetReply => ({ failure: messageOf(context.dump(keep(error))) })
  try {
    const made = context.evalCode(bridge)
    if (made.error) return failed(made.error)
    const [parse, toJson] = ['parse', 'toJson'].map((name) => keep(context.getProp(made.value, name)))
    keep(made.value)
    const loaded = context.evalCode(source, 'snippet.js')
    if (loaded.error) return failed(loaded.error)
    keep(loaded.value)
    const entry = keep(context.getProp(context.global, name))
    if (context.typeof(entry) !== 'function') return { failure: `its first function, ${name}, is not at the top level` }
    const inside: QuickJSHandle[] = []
    for (const argument of args) {
      const text = context.callFunction(parse!, context.undefined, keep(context.newString(JSON.stringify(argument))))
      if (text.error) return failed(text.error)
      inside.push(keep(text.value))
    }
    const result = context.callFunction(entry, context.undefined, ...inside)
    if (result.error) return failed(result.error)
    const text = context.callFunction(toJson!, context.undefined, keep(result.value))
    if (text.error) return failed(text.error)
    const value: unknown = context.dump(keep(text.value))
    return typeof value === 'string' ? { value: JSON.parse(value) as string } : { failure: `${name} returned nothing` }
  } finally {
    for (const handle of kept) handle.dispose()
  }
}

function messageOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error) {
    const { name, message } = error as { name?: unknown; message: unknown }
    return `${typeof name === 'string' ? `${name}: ` : ''}${String(message)}`.slice(0, 500)
  }
  return String(error).slice(0, 500)
}
