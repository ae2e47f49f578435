// Runs the pipeline of one package on its resources and those of the packages below it.
import type { YAMLMap } from 'yaml'
import type { KptFunction, PipelineStep } from '../kptfile/kptfile.ts'
import type { FunctionReference, FunctionResult, FunctionRunner } from '../function-runner.ts'
import { PackageError } from '../package-error.ts'
import { functionConfig } from './function-config.ts'
import { fullImage } from './function-image.ts'
import { krmProblemOf } from './krm-resource.ts'
import { placeResources } from './location-check.ts'
import { RenderError, alreadyHandled } from './render-error.ts'
import type { Resource } from './resource.ts'
import { resultFields } from './result-fields.ts'
import { formatFunctionInput, parseFunctionOutput } from './resource-list.ts'
import { selectResources } from './selection.ts'

/** Progress of a render. */
export type RenderEvent =
  | { readonly type: 'package'; readonly path: string }
  | { readonly type: 'finished'; readonly path: string }
  | { readonly type: 'running'; readonly step: PipelineStep; readonly path: string; readonly resources?: number }
  | { readonly type: 'passed' | 'failed'; readonly step: PipelineStep; readonly path: string }

/** State of a render that all its packages share. */
export interface RenderContext {
  readonly runner: FunctionRunner
  readonly signal: AbortSignal
  readonly allowExec: boolean
  readonly imagePrefix: string | undefined
  /** The config of a function that runs alone, in place of its `configMap` and `configPath`. */
  readonly config?: YAMLMap | undefined
  /** Configs by path that take the place of those among the resources. */
  readonly configs?: ReadonlyMap<string, YAMLMap>
  readonly mutationSteps: PipelineStep[]
  readonly validationSteps: PipelineStep[]
  onEvent(event: RenderEvent): void
}

/** One package's functions. */
export interface PipelineSteps {
  readonly mutators: readonly KptFunction[]
  readonly validators: readonly KptFunction[]
}

/** The outcome of a pipeline: the resources as far as it came, and why it stopped. */
export interface PipelineOutcome {
  readonly resources: readonly Resource[]
  readonly error?: Error
}

const execNotAllowed = 'must run with `--allow-exec` option to allow running function binaries'

/** Runs mutators in order, then validators on copies; stops at the first failure. */
export async function runPipeline(
  { mutators, validators }: PipelineSteps,
  packagePath: string,
  input: readonly Resource[],
  context: RenderContext,
): Promise<PipelineOutcome> {
  context.onEvent({ type: 'package', path: packagePath })
  if (mutators.length === 0 && validators.length === 0) {
    const problem = krmProblemOf(input)
    return problem === undefined ? { resources: input } : { resources: input, error: new Error(`input ${problem}`) }
  }
  const pipeline = new Pipeline(packagePath, input, context)
  try {
    await pipeline.mutate(mutators)
    await pipeline.validate(validators)
    context.onEvent({ type: 'finished', path: packagePath })
    return { resources: pipeline.resources }
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    return {
      resources: pipeline.resources,
      error: new RenderError('pipeline.run', packagePath, error.cause ?? new Error(error.message)),
    }
  }
}

/** A step that failed; ends the pipeline. */
class StepError extends Error {
  override readonly name = 'StepError'
  override readonly cause: PackageError | undefined

  constructor(message: string, cause?: PackageError) {
    super(message)
    this.cause = cause
  }
}

class Pipeline {
  readonly #path: string
  readonly #context: RenderContext
  resources: readonly Resource[]

  constructor(path: string, resources: readonly Resource[], context: RenderContext) {
    this.#path = path
    this.resources = resources
    this.#context = context
  }

  async mutate(steps: readonly KptFunction[]): Promise<void> {
    const { mutationSteps } = this.#context
    // A function that may not run fails the pipeline before the first one.
    for (const step of steps) this.#requirePermission(step, mutationSteps)
    for (const step of steps) {
      const selected = this.#select(step)
      const output = await this.#run(step, selected, mutationSteps)
      this.resources = selected === this.resources ? output : mergeSelected(this.resources, selected, output)
    }
  }

  async validate(steps: readonly KptFunction[]): Promise<void> {
    for (const step of steps) {
      this.#requirePermission(step, this.#context.validationSteps)
      const copies = this.#select(step).map((resource) => resource.clone())
      await this.#run(step, copies, this.#context.validationSteps)
    }
  }

  #select({ selectors = [], exclude = [] }: KptFunction): readonly Resource[] {
    return selectors.length === 0 && exclude.length === 0
      ? this.resources
      : selectResources(this.resources, selectors, exclude)
  }

  #requirePermission(step: KptFunction, steps: PipelineStep[]): void {
    if (step.exec === undefined || step.exec === '' || this.#context.allowExec) return
    steps.push({ ...this.#identity(step), executionError: execNotAllowed, exitCode: 1 })
    throw new StepError(execNotAllowed)
  }

  #identity({ name, image, tag, exec }: KptFunction): Pick<PipelineStep, 'name' | 'image' | 'exec'> {
    const { imagePrefix } = this.#context
    return {
      ...(name !== undefined && name !== '' && { name }),
      ...(image !== undefined &&
        image !== '' && {
          image: fullImage(image, { ...(imagePrefix && { prefix: imagePrefix }), ...(tag && { tag }) }),
        }),
      ...(exec !== undefined && exec !== '' && { exec }),
    }
  }

  /** Runs one function, adds its step, and returns its output. @throws StepError */
  async #run(step: KptFunction, input: readonly Resource[], steps: PipelineStep[]): Promise<readonly Resource[]> {
    const identity = this.#identity(step)
    const isSelection = (step.selectors?.length ?? 0) > 0 || (step.exclude?.length ?? 0) > 0
    this.#context.onEvent({
      type: 'running',
      step: { ...identity, exitCode: 0 },
      path: this.#path,
      ...(isSelection && { resources: input.length }),
    })
    const refuse = (message: string, cause?: PackageError): never => {
      const failed = { ...identity, executionError: message, exitCode: 1 }
      steps.push(failed)
      this.#context.onEvent({ type: 'failed', step: failed, path: this.#path })
      throw new StepError(message, cause)
    }
    const problem = krmProblemOf(input)
    if (problem !== undefined) return refuse(`input ${problem}`)
    const config = this.#context.config ?? functionConfig(step, this.#path, this.resources, this.#context.configs)
    let outcome: StepOutcome
    try {
      outcome = await runFunction({ ...referenceOf(step), ...identity }, input, config, this.#path, this.#context)
    } catch (error) {
      if (error instanceof PackageError) return refuse(error.message, error)
      throw error
    }
    const { items, results, stderr, exitCode } = outcome
    const misplaced = placeResources(items, this.#path) ?? outputProblem(items)
    if (misplaced !== undefined) return refuse(misplaced)
    const done: PipelineStep = {
      ...identity,
      ...(stderr !== '' && { stderr }),
      exitCode,
      ...resultsOf(results),
    }
    steps.push(done)
    this.#context.onEvent({ type: exitCode === 0 ? 'passed' : 'failed', step: done, path: this.#path })
    if (exitCode !== 0) throw new StepError(alreadyHandled)
    for (const item of items) item.joinHeader()
    return items
  }
}

interface StepOutcome {
  readonly items: readonly Resource[]
  readonly results: readonly FunctionResult[]
  readonly stderr: string
  readonly exitCode: number
}

async function runFunction(
  reference: FunctionReference,
  input: readonly Resource[],
  config: YAMLMap | undefined,
  packagePath: string,
  { runner, signal }: RenderContext,
): Promise<StepOutcome> {
  signal.throwIfAborted()
  const run = runner.inProcess?.(reference)
  if (run !== undefined) {
    const { items = input, results, failure } = run({ items: input, config })
    return { items, results, stderr: failure ?? '', exitCode: failure === undefined ? 0 : 1 }
  }
  const output = await runner.run(reference, formatFunctionInput(input, config), signal)
  const { exitCode, stderr } = output
  try {
    const { items, results } = parseFunctionOutput(output.resourceList, input, packagePath)
    return { items, results, stderr, exitCode }
  } catch (error) {
    // A program that failed need not have written its output.
    if (exitCode !== 0 && error instanceof PackageError) return { items: [], results: [], stderr, exitCode }
    throw error
  }
}

function referenceOf({ image, tag, exec }: KptFunction): FunctionReference {
  return {
    ...(image !== undefined && { image }),
    ...(tag !== undefined && { tag }),
    ...(exec !== undefined && { exec }),
  }
}

function outputProblem(items: readonly Resource[]): string | undefined {
  const problem = krmProblemOf(items)
  return problem === undefined ? undefined : `output ${problem}`
}

function resultsOf(reported: readonly FunctionResult[]): Pick<PipelineStep, 'results' | 'errorResults'> {
  const results = reported.map((result) => resultFields(result))
  const errorResults = results.filter(({ severity }) => severity === 'error')
  return { ...(results.length > 0 && { results }), ...(errorResults.length > 0 && { errorResults }) }
}

/**
 * Puts the output of a function on selected resources in their places: changed resources stay where they were, missing
 * ones go, new ones come last.
 */
function mergeSelected(
  all: readonly Resource[],
  selected: readonly Resource[],
  output: readonly Resource[],
): readonly Resource[] {
  const placeOf = ({ location: { packagePath, path, index } }: Resource): string =>
    JSON.stringify([packagePath, path, index])
  const isSelected = new Set(selected)
  const byPlace = new Map(output.map((resource) => [placeOf(resource), resource]))
  const merged = all.flatMap((resource) => {
    if (!isSelected.has(resource)) return [resource]
    if (output.includes(resource)) return [resource]
    const changed = byPlace.get(placeOf(resource))
    return changed === undefined ? [] : [changed]
  })
  const present = new Set(merged)
  return [...merged, ...output.filter((resource) => !present.has(resource))]
}
