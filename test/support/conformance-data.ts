// The conformance data that lie beside the repository (`../shared` or FAIRLEAD_SHARED), for the suites that read them.
// A suite is declared with describeData: without data it is skipped with one line, and with fewer cases than it states
// it fails.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { parseJson } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const named = process.env['FAIRLEAD_SHARED']
const folder = resolve(root, named === undefined || named === '' ? '../shared' : named)

/** The path of a file or folder of the data. */
export function dataPath(...path: readonly string[]): string {
  return join(folder, ...path)
}

/** Reads a file of the data. */
export function readData(...path: readonly string[]): string {
  return readFileSync(dataPath(...path), 'utf8')
}

/** Reads a JSON file of the data; integers keep their precision. */
export function readDataJson(...path: readonly string[]): JsonValue {
  return parseJson(readData(...path))
}

/** One step of a recorded scenario: a request to a real kube-apiserver and its response. */
export interface RecordedStep {
  readonly kind: string
  readonly request?: {
    readonly method: string
    readonly path: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: JsonValue
    readonly rawBody?: string
  }
  readonly response?: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string | string[]>>
    readonly body?: JsonObject
  }
}

/** A recorded scenario. */
export interface Recording {
  readonly name: string
  readonly steps: readonly RecordedStep[]
}

/** Reads the scenarios of an area: `crd`, `patch`, `validation`, … */
export function recordings(area: string): readonly Recording[] {
  return readDataJson('kubernetes', 'recordings', `${area}.json`) as unknown as readonly Recording[]
}

/**
 * Declares a suite over conformance data. `read` makes the cases; a test of the suite fails when they are fewer than
 * `minimum`, so that data which moved or was renamed cannot empty the suite unnoticed. Without the data the suite is
 * skipped with one line of output. Throws when FAIRLEAD_SHARED names a folder that does not exist, and where `read`
 * does: a folder without the files is an error.
 */
export function describeData<Case>(
  title: string,
  { minimum, read }: { readonly minimum: number; readonly read: () => readonly Case[] },
  suite: (cases: readonly Case[]) => void,
): void {
  const counting = `reads at least ${minimum} ${minimum === 1 ? 'case' : 'cases'}`
  if (!existsSync(folder)) {
    if (named !== undefined && named !== '') throw new Error(`FAIRLEAD_SHARED names ${folder}, which does not exist`)
    console.log(`skipped: ${title}: no conformance data at ${folder} (set FAIRLEAD_SHARED)`)
    describe.skip(title, () => test(counting, () => undefined))
    return
  }
  describe(title, () => {
    const cases = read()
    test(counting, () => expect(cases.length).toBeGreaterThanOrEqual(minimum))
    suite(cases)
  })
}
