// Turns answers into what a recording holds: ids, UUIDs, revisions, times and other values of one run become
// placeholders, equal ones the same. The list of placeholders is that of shared/kubernetes/README.md "Normalisation of
// responses".
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { comparedHeaders, normalise } from '../replay/compare.ts'
import type { ActualResponse } from '../replay/compare.ts'

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const jwt = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g
const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g
const age = /^(?:\d+(?:y|d|h|m|s))+$|^<unknown>$/
const generatedSuffix = /^[bcdfghjklmnpqrstvwxz2456789]{5}$/
const nearMs = 10 * 24 * 3600 * 1000

/** Numbers up to this one are literal revisions of a scenario's own (`"1"`, `"0"`). */
const smallRevision = 20

/** The placeholders of one run of a scenario. First `learn` every response, then `apply`. */
export class Placeholders {
  readonly #id: string
  readonly #server: string
  readonly #revisions = new Set<number>()
  readonly #listRevisions = new Set<number>()
  readonly #numbered = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  constructor(id: string, server: string) {
    this.#id = id
    this.#server = server
  }

  /** Collects the revisions of a response: their ranks are known only when all have been seen. */
  learn(value: JsonValue): void {
    if (Array.isArray(value)) for (const item of value) this.learn(item as JsonValue)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return
    const object = value as JsonObject
    const metadata = object['metadata']
    if (metadata !== null && typeof metadata === 'object' && !Array.isArray(metadata)) {
      const { resourceVersion } = metadata as JsonObject
      const revision = Number(resourceVersion)
      if (typeof resourceVersion === 'string' && /^\d+$/.test(resourceVersion) && revision > smallRevision)
        (isList(object) ? this.#listRevisions : this.#revisions).add(revision)
    }
    for (const item of Object.values(object)) this.learn(item as JsonValue)
  }

  /** A JSON answer as it is recorded. */
  apply(value: JsonValue): JsonValue {
    return this.#walk(normalise(value), [])
  }

  /** The headers that are kept. */
  headers(headers: ActualResponse['headers']): Record<string, string | readonly string[]> {
    return Object.fromEntries(
      comparedHeaders.flatMap((name) => {
        const value = headers[name]
        if (value === undefined) return []
        if (name === 'etag') return [[name, '<etag>']]
        return [[name, typeof value === 'string' ? this.text(value) : value.map((item) => this.text(item))]]
      }),
    )
  }

  /** Replaces every value of this run in a string. */
  text(text: string): string {
    const capital = this.#id.charAt(0).toUpperCase() + this.#id.slice(1)
    return text
      .replace(jwt, (token) => this.#name('jwt', token))
      .replaceAll(this.#id, '{{id}}')
      .replaceAll(capital, '{{Id}}')
      .replaceAll(this.#server, '<server>')
      .replace(uuid, (value) => this.#name('uid', value))
      .replace(time, (value, decimals: string | undefined) => nameOfTime(value, decimals))
      .replace(/(?<=resource version: \d+, current: )\d+/g, '<n>')
      .replace(/(?<![\w.-])\d{2,}(?![\w.-])/g, (digits) => this.#revisionInText(digits))
  }

  /** The output of kubectl. */
  output(text: string): string {
    return this.text(text)
      .replace(/resourceVersion: "\d+"/g, 'resourceVersion: <rv>')
      .replace(/"resourceVersion": "\d+"/g, '"resourceVersion": "<rv>"')
      .replace(/[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.\d+\s+\d+ [^\]]*\]/g, '<klog>')
      .replace(/(?<=\s)(?:\d+(?:y|d|h|m|s))+(?=[\s)]|$)/g, '<age>')
      .replace(/\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} [+\-\w]+/g, '<rfc1123-time>')
      .replace(/\/tmp\/[^\s"]*/g, '<tmp>')
  }

  #walk(value: JsonValue, path: readonly string[]): JsonValue {
    const key = path.at(-1) ?? ''
    if (typeof value === 'string') return this.#string(value, path)
    if (Array.isArray(value)) {
      const inCells = key === 'cells'
      return value.map((item) =>
        inCells && typeof item === 'string' && age.test(item) ? '<age>' : this.#walk(item as JsonValue, path),
      )
    }
    if (value === null || typeof value !== 'object') return value
    const object = value as JsonObject
    const list = isList(object)
    this.#learnGenerated(object['metadata'])
    return Object.fromEntries(
      Object.entries(object).map(([name, item]) => {
        if (list && name === 'metadata') return [name, this.#listMetadata(item as JsonObject)]
        return [this.text(name), this.#walk(item as JsonValue, [...path, name])]
      }),
    )
  }

  #listMetadata(metadata: JsonObject): JsonValue {
    return Object.fromEntries(
      Object.entries(metadata).map(([name, item]) => {
        if (name === 'continue' && item !== '') return [name, this.#name('continue', String(item))]
        if (name === 'resourceVersion' && Number(item) > smallRevision) return [name, '<listrv>']
        return [name, this.#walk(item as JsonValue, ['metadata', name])]
      }),
    )
  }

  #string(value: string, path: readonly string[]): string {
    const key = path.at(-1)
    if (key === 'resourceVersion' && this.#revisions.has(Number(value))) return this.#rank(Number(value))
    if (key === 'description' && path.at(-2) === 'columnDefinitions') return '<description>'
    if (key === 'storageVersionHash' || key === 'serverRelativeURL') return value.replace(/[^=]+$|^[^=]+=$/, '<hash>')
    return this.text(value)
  }

  #learnGenerated(metadata: JsonValue | undefined): void {
    if (metadata === null || typeof metadata !== 'object' || Array.isArray(metadata)) return
    const { generateName, name } = (metadata ?? {}) as JsonObject
    if (typeof generateName !== 'string' || typeof name !== 'string' || !name.startsWith(generateName.slice(0, 58)))
      return
    const suffix = name.slice(-5)
    if (generatedSuffix.test(suffix)) this.#name('gen', suffix)
  }

  #name(family: string, value: string): string {
    const key = `${family} ${value}`
    let name = this.#numbered.get(key)
    if (name === undefined) {
      const count = (this.#counts.get(family) ?? 0) + 1
      this.#counts.set(family, count)
      name = `<${family}-${count}>`
      this.#numbered.set(key, name)
    }
    return name
  }

  #rank(revision: number): string {
    return `<rv-${[...this.#revisions].filter((other) => other <= revision).length}>`
  }

  #revisionInText(digits: string): string {
    const revision = Number(digits)
    if (this.#revisions.has(revision)) return this.#rank(revision)
    return this.#listRevisions.has(revision) && revision > smallRevision ? '<listrv>' : digits
  }
}

/** Lists, tables and bookmarks carry the revision of the read, not of an object. */
function isList(object: JsonObject): boolean {
  const metadata = object['metadata'] as JsonObject | undefined
  return metadata !== undefined && metadata !== null && metadata['uid'] === undefined && metadata['name'] === undefined
}

function nameOfTime(value: string, decimals: string | undefined): string {
  if (Math.abs(Date.parse(value) - performance.timeOrigin) > nearMs) return value
  if (decimals === undefined) return '<time>'
  return decimals.length === 7 ? '<microtime>' : '<nanotime>'
}
