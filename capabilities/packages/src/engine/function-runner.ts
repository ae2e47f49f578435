// The port through which a render runs functions: worker threads, programs and containers on the runtime side.
import type { ResourceFunction } from './render/resource-function.ts'

/** A function of a pipeline (Kptfile v1 `pipeline.mutators[]`, `validators[]`): the fields that choose its runner. */
export interface FunctionReference {
  /** An image name, with or without registry, repository and tag. */
  readonly image?: string
  /** A tag or semver range that completes `image`. */
  readonly tag?: string
  /** A program with its arguments. */
  readonly exec?: string
}

/** One message of a function, as in `ResourceList.results`. */
export interface FunctionResult {
  readonly message: string
  readonly severity?: 'error' | 'warning' | 'info'
  readonly resourceRef?: { apiVersion?: string; kind?: string; name?: string; namespace?: string }
  readonly field?: { path: string; currentValue?: unknown; proposedValue?: unknown }
  readonly file?: { path: string; index?: number }
  readonly tags?: Readonly<Record<string, string>>
}

/** The outcome of one run: the output as the YAML of a ResourceList, standard error, exit code. */
export interface FunctionOutput {
  readonly resourceList: string
  readonly stderr: string
  readonly exitCode: number
}

/** Runs functions; bounded in time and memory by its implementation. */
export interface FunctionRunner {
  /**
   * Runs one function on the YAML of a `config.kubernetes.io/v1` ResourceList.
   * @throws PackageError `UnknownFunction` when no runner takes the image, `FunctionTimeout`, `FunctionMemory`
   */
  run(reference: FunctionReference, resourceList: string, signal: AbortSignal): Promise<FunctionOutput>

  /** Returns the function that runs in this thread, on parsed resources; undefined where `run` is to be used. */
  inProcess?(reference: FunctionReference): ResourceFunction | undefined
}
