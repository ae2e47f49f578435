// Messages between a renderer and its worker thread.
import type { FunctionOutput, FunctionReference } from '../../engine/function-runner.ts'
import type { PackageErrorCode } from '../../engine/package-error.ts'
import type { PackageFiles } from '../../engine/package-files.ts'
import type { KptFunction, PipelineStep, RenderStatus } from '../../engine/kptfile/kptfile.ts'
import type { MergeConflict } from '../../engine/merge3/conflict.ts'
import type { PackageUpdate } from '../../engine/update/update-package.ts'
import type { RenderEvent } from '../../engine/render/pipeline.ts'

/** The form of returned resources: text beside the files, or the only files. */
export type ResourceOutput = 'list' | 'documents' | 'files'

/** Starts a job. */
export interface RenderJob {
  readonly type: 'render'
  readonly files: PackageFiles
  readonly allowExec: boolean
  readonly breadthFirst?: boolean
  readonly imagePrefix?: string
  readonly output?: ResourceOutput
  /** Writes the outcome into the root Kptfile. */
  readonly writesStatus: boolean
}

/** Starts the evaluation of one function. */
export interface EvaluateJob {
  readonly type: 'evaluate'
  readonly files: PackageFiles
  readonly allowExec: boolean
  readonly imagePrefix?: string
  readonly output?: ResourceOutput
  readonly step: KptFunction
  /** The YAML of the config, and the file below the folder that it is. */
  readonly config?: string
  readonly configFile?: string
  /** A ResourceList whose items are the resources, in place of the files'. */
  readonly list?: string
}

/** Starts an update of a rendered package; functions that are not built in do not run. */
export interface UpdateJob extends Omit<PackageUpdate, 'local'> {
  readonly type: 'update'
  /** The local package. */
  readonly files: PackageFiles
}

/** An error that crosses threads. */
export interface ErrorMessage {
  readonly code: PackageErrorCode
  readonly message: string
}

/** The outcome of a job. */
export interface RenderResult {
  readonly files: PackageFiles
  readonly results: readonly PipelineStep[]
  readonly status?: RenderStatus
  readonly failure?: string
  readonly error?: ErrorMessage
  readonly packages: number
  readonly functions: number
  /** The resources as text, when the job asked for them. */
  readonly resources?: string
  /** Of an update. */
  readonly conflicts?: readonly MergeConflict[]
  readonly unrendered?: string
}

export type WorkerRequest =
  | RenderJob
  | UpdateJob
  | EvaluateJob
  | { readonly type: 'output'; readonly output: FunctionOutput }
  | { readonly type: 'error'; readonly error: ErrorMessage }

export type WorkerReply =
  /** The thread has loaded its code. */
  | { readonly type: 'ready' }
  | { readonly type: 'event'; readonly event: RenderEvent }
  | { readonly type: 'run'; readonly reference: FunctionReference; readonly resourceList: string }
  | { readonly type: 'result'; readonly result: RenderResult }
  | { readonly type: 'crash'; readonly message: string }
