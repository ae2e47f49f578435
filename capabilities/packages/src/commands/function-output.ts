// Where `pkg render` and `pkg eval` put their output, and the file of function results.
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Document } from 'yaml'
import { CommandError } from '@fairlead/offline'
import type { PipelineStep } from '../engine/kptfile/kptfile.ts'
import { formatDocument } from '../engine/yaml/format.ts'
import type { ResourceOutput } from '../runtime/functions/render-messages.ts'

/** `stdout`: a ResourceList; `unwrap`: its resources; anything else: a folder that does not exist yet. */
export function resourceOutput(output: string | undefined): ResourceOutput | undefined {
  if (output === undefined) return undefined
  return output === 'stdout' ? 'list' : output === 'unwrap' ? 'documents' : 'files'
}

/** Refuses an output folder that exists. @throws CommandError */
export async function requireAbsent(output: string | undefined): Promise<void> {
  if (output === undefined || resourceOutput(output) !== 'files') return
  const exists = await stat(output).then(
    () => true,
    () => false,
  )
  if (exists)
    throw new CommandError(`directory ${JSON.stringify(output)} already exists, please delete the directory and retry`)
}

/** Writes `results.yaml` (FunctionResultList of kpt) into a folder. Returns its path. */
export async function writeResults(folder: string, steps: readonly PipelineStep[]): Promise<string> {
  const document = new Document(
    {
      apiVersion: 'kpt.dev/v1',
      kind: 'FunctionResultList',
      metadata: { name: 'fnresults' },
      exitCode: steps.some(({ exitCode }) => exitCode !== 0) ? 1 : 0,
      items: steps.map(({ image, exec, stderr, executionError, exitCode, results }) => ({
        ...(image !== undefined && { image }),
        ...(exec !== undefined && { exec }),
        ...((stderr ?? executionError) !== undefined && { stderr: stderr ?? executionError }),
        exitCode,
        ...(results !== undefined && { results }),
      })),
    },
    { aliasDuplicateObjects: false },
  )
  await mkdir(folder, { recursive: true })
  const path = join(folder, 'results.yaml')
  await writeFile(path, formatDocument(document, { sequenceIndent: 'wide' }))
  return path
}
