// The recordings' format (shared/kubernetes/README.md "recordings") as types, and how a folder of them is read.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'

export interface HttpRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: JsonValue
  readonly rawBody?: string
  readonly repeatBody?: {
    readonly prefix: string
    readonly char: string
    readonly count: number
    readonly suffix: string
  }
  readonly as?: string
  readonly token?: string
}

export interface ExpectedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: JsonValue
  readonly text?: string
  readonly base64?: string
  readonly unorderedCauses?: boolean
  readonly note?: string
}

export interface Until {
  readonly status?: number
  readonly path?: string
  readonly equals?: JsonValue
  readonly exists?: boolean
  readonly contains?: string
}

interface StepBase {
  readonly looseText?: boolean
}

export interface HttpStep extends StepBase {
  readonly kind: 'http'
  readonly request: HttpRequest
  readonly until?: Until
  readonly response: ExpectedResponse
}

export interface WatchStep extends StepBase {
  readonly kind: 'watch'
  readonly watch: string
  readonly request: HttpRequest
  readonly response: ExpectedResponse
}

export interface EventsStep extends StepBase {
  readonly kind: 'events'
  readonly watch: string
  readonly count: number | null
  readonly untilEnd: boolean
  readonly events: readonly JsonObject[]
  readonly ended: boolean
}

export interface KubectlStep extends StepBase {
  readonly kind: 'kubectl'
  readonly args: readonly string[]
  readonly stdin?: string
  readonly until?: { readonly stdoutContains?: string; readonly exitCode?: number }
  readonly result: {
    readonly exitCode: number
    readonly stdout: string
    readonly stderr: string
    readonly unorderedLines?: boolean
  }
}

export type Step =
  | HttpStep
  | WatchStep
  | EventsStep
  | KubectlStep
  | { readonly kind: 'sleep'; readonly ms: number }
  | { readonly kind: 'compact' }

export interface Scenario {
  readonly name: string
  readonly namespace: boolean
  readonly note?: string
  readonly steps: readonly Step[]
}

/** Every scenario of a file, or of all `.json` files of a folder, in order of file name. */
export function readScenarios(path: string): Scenario[] {
  const files = statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((name) => join(path, name))
    : [path]
  return files.flatMap((file) => {
    const list = parseJson(readFileSync(file, 'utf8'))
    if (!Array.isArray(list))
      throw new Error(`${basename(file)} is not a recording: a JSON list of scenarios is expected`)
    return list as unknown as Scenario[]
  })
}
