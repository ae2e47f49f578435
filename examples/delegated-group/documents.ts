// Documents: API objects that live as JSON files in a folder, one folder per namespace. A user who edits a file, with
// an editor or by `git pull`, changes the object; watchers see it at once.
import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type {
  StorageChange,
  StorageKey,
  ResourceStorage,
  StorageReview,
  RestStorage,
  StorageWrite,
} from '@fairlead/controller'
import { badRequest, formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { definition } from './definition.ts'

interface Kept {
  readonly text: string
  readonly object: KubeObject
}

/** The storage. */
export class Documents implements RestStorage, AsyncDisposable {
  readonly #folder: string
  readonly #kept = new Map<string, Kept>()
  readonly #listeners = new Set<(change: StorageChange) => void>()
  /** One for the folder, one for each namespace's. */
  readonly #watchers = new Map<string, FSWatcher>()
  /** Files are read and written one after the other, so that no half of a change is ever seen. */
  #last: Promise<unknown> = Promise.resolve()

  private constructor(folder: string) {
    this.#folder = folder
    this.#follow(folder)
  }

  /** Opens a folder, which is made if it is not there. */
  static async open(folder: string): Promise<Documents> {
    await mkdir(folder, { recursive: true })
    const documents = new Documents(folder)
    await documents.#serialized(() => documents.#readAll())
    return documents
  }

  async get(key: StorageKey): Promise<KubeObject | undefined> {
    return this.#kept.get(formatKey(key))?.object
  }

  async list(namespace: string | undefined): Promise<readonly KubeObject[]> {
    const objects = [...this.#kept.values()].map(({ object }) => object)
    return namespace === undefined ? objects : objects.filter(({ metadata }) => metadata.namespace === namespace)
  }

  /** Checks what no schema can say, in dry runs too. */
  validate({ object, warnings }: StorageReview): void {
    const text = textOf(object)
    if (text.includes('\0')) throw badRequest('spec.text must not hold NUL characters')
    if (text !== '' && !text.endsWith('\n')) warnings.push('spec.text does not end with a newline')
  }

  create(object: KubeObject): Promise<KubeObject> {
    return this.#serialized(() => this.#write(object))
  }

  update(object: KubeObject, _old: KubeObject, { signal }: StorageWrite): Promise<KubeObject> {
    return this.#serialized(() => {
      // The caller no longer waits, and nothing has been done yet.
      signal.throwIfAborted()
      return this.#write(object)
    })
  }

  delete(old: KubeObject): Promise<void> {
    return this.#serialized(async () => {
      await rm(this.#fileOf(old), { force: true })
      this.#forget(formatKey(keyOf(old)))
    })
  }

  watch(listener: (change: StorageChange) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unfollowAll()
    await this.#last
    this.#unfollowAll()
  }

  #serialized<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work)
    this.#last = run.catch(() => undefined)
    return run
  }

  /** Watches a folder for changes: what is read after this is never older than the events. */
  #follow(folder: string): void {
    if (this.#watchers.has(folder)) return
    // A folder that cannot be read any more is going: what it held stays known until it can be read.
    const watcher = watch(folder, () => void this.#serialized(() => this.#readAll()).catch(() => undefined))
    watcher.on('error', () => this.#unfollow(folder))
    this.#watchers.set(folder, watcher)
  }

  #unfollowAll(): void {
    for (const folder of this.#watchers.keys()) this.#unfollow(folder)
  }

  #unfollow(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }

  async #write(object: KubeObject): Promise<KubeObject> {
    const file = this.#fileOf(object)
    const kept = { ...object, status: { characters: textOf(object).length } }
    const text = `${JSON.stringify(kept, undefined, 2)}\n`
    await mkdir(dirname(file), { recursive: true })
    this.#follow(dirname(file))
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
    this.#keep(formatKey(keyOf(kept)), { text, object: kept })
    return kept
  }

  /** Compares the folder with the known objects and notifies watchers of the differences. */
  async #readAll(): Promise<void> {
    const missing = new Set(this.#kept.keys())
    const folders = (await readdir(this.#folder, { withFileTypes: true })).filter((entry) => entry.isDirectory())
    const followed = new Set([this.#folder, ...folders.map(({ name }) => join(this.#folder, name))])
    for (const folder of this.#watchers.keys()) if (!followed.has(folder)) this.#unfollow(folder)
    for (const folder of followed) this.#follow(folder)
    const files = (await readdir(this.#folder, { recursive: true })).filter((file) => file.endsWith('.json'))
    for (const file of files) {
      const [namespace = '', name = '', ...deeper] = file.slice(0, -'.json'.length).split(/[\\/]/)
      if (deeper.length > 0 || name === '') continue
      const key = formatKey({ namespace, name })
      // A file that is being written is not deleted: its last object stays until it can be read.
      missing.delete(key)
      const text = await readFile(join(this.#folder, file), 'utf8').catch(() => undefined)
      const object = text === undefined ? undefined : parse(text, namespace, name)
      if (text === undefined || object === undefined) continue
      if (this.#kept.get(key)?.text !== text) this.#keep(key, { text, object })
    }
    for (const key of missing) this.#forget(key)
  }

  #keep(key: string, kept: Kept): void {
    const previous = this.#kept.get(key)?.object
    this.#kept.set(key, kept)
    this.#notify({ type: 'put', object: kept.object, previous })
  }

  #forget(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#kept.delete(key)
    this.#notify({ type: 'delete', object: kept.object, previous: kept.object })
  }

  #notify(change: StorageChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  /** Names of objects are DNS names: nothing in them leads out of the folder. */
  #fileOf({ metadata }: KubeObject): string {
    return join(this.#folder, metadata.namespace ?? '', `${metadata.name}.json`)
  }
}

/** The resource that the API server is given. */
export function documentsResource(storage: Documents): ResourceStorage {
  return { definition, storage, maxBodyBytes: 512 * 1024 }
}

function textOf(object: KubeObject | undefined): string {
  return String((object?.['spec'] as { text?: unknown } | undefined)?.text ?? '')
}

/** A file that is being written, or is none of ours, is passed over. */
function parse(text: string, namespace: string, name: string): KubeObject | undefined {
  try {
    const object = JSON.parse(text) as KubeObject
    return { ...object, metadata: { ...object.metadata, namespace, name } }
  } catch {
    return undefined
  }
}
