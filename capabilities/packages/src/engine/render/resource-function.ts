// The contract of functions that run in process.
import type { YAMLMap } from 'yaml'
import type { FunctionResult } from '../function-runner.ts'
import type { Resource } from './resource.ts'

/** The input of a function. */
export interface FunctionInput {
  /** The resources, which the function changes in place. */
  readonly items: readonly Resource[]
  /** The function config: a ConfigMap of the pipeline's `configMap`, or the resource of `configPath`. */
  readonly config: YAMLMap | undefined
}

/** The outcome of a function. */
export interface FunctionOutcome {
  /** The resources afterwards; the input's when left out. */
  readonly items?: readonly Resource[]
  readonly results: readonly FunctionResult[]
  /** Set when the function failed: what it writes to standard error. */
  readonly failure?: string
}

/** A function over resources: deterministic, no I/O. */
export type ResourceFunction = (input: FunctionInput) => FunctionOutcome
