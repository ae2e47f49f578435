// Tries one input and says what did not hold. Requests run on a fresh server each time, so that any input can be tried
// again by itself.
import { ApiServer, decodeProtobuf, memory } from '@fairlead/apiserver'
import type { InjectedResponse } from '@fairlead/apiserver'
import { isJsonObject, jsonEqual, parseJson, parseYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { widgetDefinition } from './definitions.ts'
import { pureFunctions } from './pure-functions.ts'
import { bodyOf } from './input.ts'
import type { FunctionInput, FuzzInput, FuzzRequest, RequestInput } from './input.ts'

/**
 * CPU time that one request or call may take, in milliseconds: far beyond what is right, far below what hurts others.
 */
const maxCpuMs = 2_000
/** Milliseconds for which a watch is read. */
const watchMs = 5
const administrator = { name: 'admin', groups: ['system:masters'] }

/** Answers of 500 that a real API server gives too (recordings, or its source where it returns an untyped error). */
const recordedFailures: readonly RegExp[] = [
  /^invalid object type: /,
  /^unknown patch type: /,
  /^merging lists cannot yet be specified in the patch$/,
  /^expected a (\[\]|map\[string\])interface \{\}, but received a /,
  /^failed to create (manager for|typed patch object|typed live object)/,
  /^failed to convert new object /,
  // Of a RuntimeClass that no path can name.
  /^invalid resource name /,
  /^Internal error occurred: the spec replicas field /,
  /strconv\.ParseUint: parsing/,
  /^resourceVersion should not be set on objects to be created$/,
  /does not contain declared merge key/,
  /doesn't match \$setElementOrder list/,
  /requested impersonation of a group, uid or extra without impersonating a user/,
  /^Internal error occurred: failed to allocate a (serviceIP|nodePort)/,
  // Nodes have no kubelet here (docs/explanation/fidelity.md).
  /^this server has no kubelets: /,
  // A binding is validated by its storage, which returns the list of errors as they are.
  /^target\.(name|kind): /,
]

const prototypes = [Object.prototype, Array.prototype, String.prototype, Function.prototype, Map.prototype]
const ownKeys = (): string => prototypes.map((prototype) => Reflect.ownKeys(prototype).map(String).join()).join(';')
const untouched = ownKeys()

/** Returns the laws that do not hold for this input. */
export async function violationsOf(input: FuzzInput): Promise<string[]> {
  const rejected: unknown[] = []
  const onRejection = (reason: unknown): void => void rejected.push(reason)
  process.on('unhandledRejection', onRejection)
  try {
    const found = input.target === 'function' ? playFunction(input) : await new Trial().play(input)
    if (rejected.length > 0) found.push(`unhandled rejection: ${trace(rejected[0])}`)
    if (ownKeys() !== untouched) found.push('a prototype was polluted')
    return found
  } finally {
    process.off('unhandledRejection', onRejection)
  }
}

function playFunction({ name, texts }: FunctionInput): string[] {
  const found: string[] = []
  const since = process.cpuUsage()
  try {
    const broken = pureFunctions[name]!.play(texts)
    if (broken !== undefined) found.push(`${name}: ${broken}`)
  } catch (error) {
    if (!isTyped(error)) found.push(`${name}: ${trace(error)}`)
  }
  const spent = cpuSince(since)
  if (spent > maxCpuMs) found.push(`${name}: took ${Math.round(spent)} ms`)
  return found
}

/** Errors of ours carry a stable code. */
function isTyped(error: unknown): boolean {
  return (
    error instanceof Error &&
    !/^(TypeError|RangeError|SyntaxError|Error|ReferenceError)$/.test(error.constructor.name) &&
    'code' in error
  )
}

/**
 * Events come a line each; every other answer is one document, also where its path asked for a watch that there is not.
 */
function isStreamed({ method, path }: FuzzRequest, body: string): boolean {
  return method === 'GET' && /[?&]watch=|\/watch\//.test(path) && body.startsWith('{"type":')
}

function trace(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 6).join('\n') : String(error)
}

function cpuSince(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

/** One sequence of requests. */
class Trial {
  readonly #found: string[] = []
  readonly #errors: unknown[] = []
  readonly #written = new Set<string>()
  #server!: ApiServer

  async play({ requests }: RequestInput): Promise<string[]> {
    await using server = await ApiServer.start({
      storage: memory(),
      controllers: ['crd'],
      onError: (error) => this.#errors.push(error),
    })
    this.#server = server
    await this.#send({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(widgetDefinition),
    })
    for (const request of requests) {
      const answer = await this.#send(request)
      if (answer === undefined || answer.status >= 300 || !/^(POST|PUT|PATCH|DELETE)$/.test(request.method)) continue
      this.#written.add(request.path.split('?')[0]!)
      if (request.headers['content-type']?.startsWith('application/apply-patch') === true)
        await this.#applyAgain(request, answer)
    }
    for (const path of this.#written) await this.#readAgain(path)
    const goesOn = await this.#send({ method: 'GET', path: '/api/v1/namespaces/kube-system', headers: {} })
    if (goesOn?.status !== 200)
      this.#fail('the server does not go on', { method: 'GET', path: '/api/v1/namespaces/kube-system', headers: {} })
    return this.#found
  }

  #fail(what: string, { method, path }: FuzzRequest): void {
    this.#found.push(`${method} ${path.slice(0, 200)}: ${what}`)
  }

  async #send(request: FuzzRequest): Promise<InjectedResponse | undefined> {
    const stop = new AbortController()
    const mayWatch = /[?&]watch=|\/watch\/|\/log|\/proxy/.test(request.path)
    const timer = mayWatch ? setTimeout(() => stop.abort(), watchMs) : undefined
    const since = process.cpuUsage()
    const body = bodyOf(request)
    try {
      const answer = await this.#server.inject({
        method: request.method,
        path: request.path,
        headers: request.headers,
        user: administrator,
        signal: stop.signal,
        ...(body === undefined ? {} : { body }),
      })
      this.#judge(request, answer)
      if (answer.status < 300 && request.path.includes('/customresourcedefinitions')) await establishing()
      return answer
    } catch (error) {
      this.#fail(`threw ${trace(error)}`, request)
      return undefined
    } finally {
      clearTimeout(timer)
      const spent = cpuSince(since)
      if (spent > maxCpuMs) this.#fail(`took ${Math.round(spent)} ms`, request)
    }
  }

  #judge(request: FuzzRequest, { status, headers, body, bytes }: InjectedResponse): void {
    for (const error of this.#errors.splice(0)) this.#fail(`untyped error ${trace(error)}`, request)
    if (!Number.isInteger(status) || status < 100 || status > 599) this.#fail(`answered ${status}`, request)
    const type = String(headers['content-type'] ?? '')
    const read = this.#read(request, type, body, bytes)
    if (status < 400 || read === undefined || request.method === 'HEAD') return
    const { apiVersion, kind, status: verdict, message, code, metadata } = read
    const isStatus =
      apiVersion === 'v1' &&
      kind === 'Status' &&
      verdict === 'Failure' &&
      typeof message === 'string' &&
      code === status &&
      (type.includes('protobuf') || isJsonObject(metadata as JsonValue))
    if (!isStatus) this.#fail(`${status} without a Status: ${body.slice(0, 300)}`, request)
    if (status === 504 && /Too large resource version/.test(String(message))) return
    if (status >= 500 && !recordedFailures.some((known) => known.test(String(message))))
      this.#fail(`${status} ${String(message).slice(0, 300)}`, request)
  }

  /** The object of a response in any form; undefined for text, streams and nothing. */
  #read(request: FuzzRequest, type: string, body: string, bytes: Uint8Array): JsonObject | undefined {
    if (bytes.length === 0) return undefined
    try {
      if (type.includes('stream=watch')) return undefined
      if (type.startsWith('application/vnd.kubernetes.protobuf')) return decodeProtobuf(bytes)
      if (type.startsWith('application/yaml')) return parseYaml(body) as JsonObject
      if (!type.startsWith('application/json')) return undefined
      if (isStreamed(request, body)) {
        for (const line of body.split('\n')) if (line !== '') parseJson(line)
        return undefined
      }
      return parseJson(body) as JsonObject
    } catch (error) {
      this.#fail(`unreadable answer (${type}): ${trace(error)} in ${body.slice(0, 200)}`, request)
      return undefined
    }
  }

  /** Applying the same again changes nothing. */
  async #applyAgain(request: FuzzRequest, before: InjectedResponse): Promise<void> {
    if (/dryRun|as=|protobuf|yaml/.test(`${request.path}${request.headers['accept'] ?? ''}`)) return
    if (!isJsonType(before)) return
    const first = before.json() as JsonObject
    // Who owns nothing leaves no entry, and the next apply takes the object for one from before the first apply, as the
    // real server does.
    if (!before.body.includes('"managedFields"')) return
    const again = await this.#send(request)
    if (again === undefined) return
    // What creation wipes and updates refuse: the second request differs from the first, as with the real server.
    const isPinned = /"(resourceVersion|uid|deletionTimestamp|deletionGracePeriodSeconds)"/.test(request.body ?? '')
    if (again.status !== 200) {
      if (!isPinned) this.#fail(`applied again: ${again.status} ${again.body.slice(0, 300)}`, request)
      return
    }
    // A Node that says that it has no taints gets one when it is created, and an update takes it away.
    if (/"taints"/.test(request.body ?? '') && first['kind'] === 'Node') return
    const second = again.json() as JsonObject
    if (revision(first) !== revision(second))
      this.#fail(`applied again, changed: ${before.body.slice(0, 1_500)} became ${again.body.slice(0, 1_500)}`, request)
  }

  /** Checks that what is stored can be read in every form, listed, and updated unchanged. */
  async #readAgain(path: string, triesLeft = 3): Promise<void> {
    for (const accept of [
      'application/json',
      'application/yaml',
      'application/vnd.kubernetes.protobuf, application/json',
      'application/json;as=Table;g=meta.k8s.io;v=v1',
    ])
      await this.#send({ method: 'GET', path, headers: { accept } })
    const read = await this.#send({ method: 'GET', path, headers: { accept: 'application/json' } })
    if (read === undefined || read.status !== 200 || !isJsonType(read)) return
    const object = read.json() as JsonObject
    // Lists of paths and versions are no objects; a definition that was made meanwhile changes them.
    if (object['metadata'] === undefined) return
    if (String(object['kind']).endsWith('List') && Array.isArray(object['items'])) {
      for (const item of object['items'] as JsonObject[])
        await this.#readAgain(`${path}/${encodeURIComponent(String((item['metadata'] as JsonObject)['name']))}`)
      return
    }
    const request: FuzzRequest = {
      method: 'PUT',
      path,
      headers: { 'content-type': 'application/json' },
      body: read.body,
    }
    const put = await this.#send(request)
    if (put === undefined || put.status === 405 || put.status === 404) return
    // A controller of the server came in between.
    if (put.status === 409 && triesLeft > 0) return this.#readAgain(path, triesLeft - 1)
    if (put.status !== 200)
      this.#fail(`what was read cannot be put back: ${put.status} ${put.body.slice(0, 500)}`, request)
    // Objects of a definition that changed are stored by its new form now.
    else if (path.includes('/gadgets/') && put.status === 200) return
    else if (!jsonEqual(put.json(), object))
      this.#fail(
        `putting back what was read changed it: ${read.body.slice(0, 1_500)} became ${put.body.slice(0, 1_500)}`,
        request,
      )
  }
}

/** Definitions take effect some turns after they are written. */
async function establishing(): Promise<void> {
  for (let tick = 0; tick < 10; tick++) await new Promise((resolve) => setImmediate(resolve))
}

function isJsonType({ headers }: InjectedResponse): boolean {
  return String(headers['content-type']).startsWith('application/json')
}

function revision(object: JsonObject): JsonValue | undefined {
  return isJsonObject(object['metadata']!) ? object['metadata']['resourceVersion'] : undefined
}
