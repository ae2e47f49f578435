// Renders ytt templates with the ytt program, if it is installed: template in a private temporary file, data values on
// standard input, bounded in time and number. Start with Ytt.
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseYamlDocuments, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { StampError } from '../engine/templates/stamp.ts'
import { Limit } from './limit.ts'
import { findYtt, runProgram } from './ytt-program.ts'

/** Renderings that are cached; the oldest is evicted first. */
const cacheSize = 500

/** Options of {@link Ytt}. */
export interface YttOptions {
  /** Path of the program; looked for at each rendering ({@link findYtt}) when left out. */
  readonly program?: string
  /** Programs that run at a time. */
  readonly concurrency?: number
}

/** The renderer. Equal templates with equal values are rendered once. */
export class Ytt {
  readonly #program: string | undefined
  readonly #limit: Limit
  readonly #rendered = new Map<string, Promise<JsonValue>>()

  constructor({ program, concurrency = availableParallelism() }: YttOptions = {}) {
    this.#program = program
    this.#limit = new Limit(concurrency)
  }

  /** The path of the program; undefined when it is not installed. */
  get program(): string | undefined {
    return this.#program ?? findYtt()
  }

  /**
   * Renders a template with the context as data values and returns the first document. Throws StampError with the
   * program's error message; it is transient when the program could not be run to its end.
   */
  render(template: string, context: JsonObject): Promise<JsonValue> {
    const values = stringifyJson(context)
    const digest = createHash('sha256').update(template).update('\0').update(values).digest('hex')
    const known = this.#rendered.get(digest)
    if (known !== undefined) return known
    const rendering = this.#limit.run(() => this.#render(template, values))
    this.#rendered.set(digest, rendering)
    const [oldest] = this.#rendered.keys()
    if (this.#rendered.size > cacheSize && oldest !== undefined) this.#rendered.delete(oldest)
    rendering.catch(() => this.#rendered.get(digest) === rendering && this.#rendered.delete(digest))
    return rendering
  }

  /**
   * Renders a file that is a ytt template with a file of data values, for tests. Throws StampError with the program's
   * error message.
   */
  format(path: string, values: string): Promise<string> {
    const { program } = this
    if (program === undefined) throw new StampError('the ytt program is not installed')
    return runProgram(program, ['--ignore-unknown-comments', '-f', path, '-f', values], { input: '' })
  }

  async #render(template: string, values: string): Promise<JsonValue> {
    const { program } = this
    if (program === undefined)
      throw new StampError(
        'unable to apply ytt template: the ytt program is not installed where the controller runs; install it, set YTT to its path, or use template or expression',
      )
    const [document] = parseYamlDocuments(await this.#run(program, template, values))
    return document ?? null
  }

  /** Returns the output. Values may be larger than arguments and variables can be, and others can read those. */
  async #run(program: string, template: string, values: string): Promise<string> {
    try {
      // Its error messages name the file, as for a template on standard input.
      const folder = await mkdtemp(join(tmpdir(), 'fairlead-ytt-'))
      try {
        await writeFile(join(folder, 'stdin.yml'), template, { mode: 0o600 })
        return await runProgram(program, ['-f', 'stdin.yml', '--data-values-file', '-'], { folder, input: values })
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    } catch (error) {
      if (error instanceof StampError) throw error
      const problem = error instanceof Error ? error.message : String(error)
      throw new StampError(`unable to apply ytt template: ${problem}`, { cause: error, isTransient: true })
    }
  }
}
