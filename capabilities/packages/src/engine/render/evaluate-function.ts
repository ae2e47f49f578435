// Runs one function on all resources of a folder, as `kpt fn eval` does.
import type { YAMLMap } from 'yaml'
import type { KptFunction } from '../kptfile/kptfile.ts'
import type { FunctionRunner } from '../function-runner.ts'
import { PackageError } from '../package-error.ts'
import type { PackageFiles } from '../package-files.ts'
import type { PackageFolder } from './package-tree.ts'
import { joinPath, packageTree } from './package-tree.ts'
import type { RenderEvent } from './pipeline.ts'
import { runPipeline } from './pipeline.ts'
import type { PipelineStep } from '../kptfile/kptfile.ts'
import { parseFunctionOutput } from './resource-list.ts'
import type { Resource } from './resource.ts'
import type { CommentDocument } from './resource-file.ts'
import { localResources } from './resource-file.ts'
import { outsidePackage, writeResources } from './resource-writer.ts'

/** Options of an evaluation. */
export interface EvaluateOptions {
  readonly signal: AbortSignal
  readonly allowExec?: boolean
  readonly imagePrefix?: string
  /** The function's config, in place of the step's `configMap`. */
  readonly config?: YAMLMap
  /** The file of the config, whose resources the function does not see. */
  readonly configFile?: string
  /** A ResourceList whose items are the resources, in place of the files'. */
  readonly list?: string
  readonly onEvent?: (event: RenderEvent) => void
}

/** The outcome of an evaluation; the files are those before when it failed. */
export interface Evaluation {
  readonly files: PackageFiles
  readonly resources: readonly Resource[]
  readonly results: readonly PipelineStep[]
  readonly error?: PackageError
}

/**
 * Runs a function. Never throws for a function that fails or a file at fault.
 * @throws the signal's reason when it aborts
 */
export async function evaluateFunction(
  files: PackageFiles,
  step: KptFunction,
  runner: FunctionRunner,
  options: EvaluateOptions,
): Promise<Evaluation> {
  const steps: PipelineStep[] = []
  const failed = (error: PackageError): Evaluation => ({ files, resources: [], results: steps, error })
  let input: Input
  try {
    input = options.list === undefined ? readAll(packageTree(files), files) : readList(options.list)
  } catch (error) {
    if (error instanceof PackageError) return failed(error)
    throw error
  }
  const isConfig = ({ location }: Resource): boolean => location.path === options.configFile
  const visible = input.resources.filter((resource) => !isConfig(resource))
  const { resources, error } = await runPipeline({ mutators: [step], validators: [] }, '', visible, {
    runner,
    signal: options.signal,
    allowExec: options.allowExec ?? false,
    imagePrefix: options.imagePrefix,
    config: options.config,
    mutationSteps: steps,
    validationSteps: [],
    onEvent: (event) => options.onEvent?.(event),
  })
  const message = error?.message ?? outsidePackage(resources)
  if (message !== undefined) return failed(new PackageError('FunctionFailed', message))
  const output = [...resources, ...input.resources.filter((resource) => isConfig(resource))]
  return { files: writeResources(files, output, input, true), resources: output, results: steps }
}

interface Input {
  readonly resources: readonly Resource[]
  readonly inputFiles: ReadonlySet<string>
  readonly comments: ReadonlyMap<string, readonly CommentDocument[]>
}

function readList(list: string): Input {
  return { resources: parseFunctionOutput(list, [], '').items, inputFiles: new Set(), comments: new Map() }
}

/** Reads the resources of all packages as those of the root. */
function readAll(folder: PackageFolder, files: PackageFiles): Input {
  const { resources, comments } = localResources(folder, files)
  for (const resource of resources)
    resource.location = {
      ...resource.location,
      packagePath: '',
      path: joinPath(folder.path, resource.location.path ?? ''),
    }
  const below = folder.subpackages.map((subpackage) => readAll(subpackage, files))
  return {
    resources: [...resources, ...below.flatMap((input) => input.resources)],
    inputFiles: new Set([
      ...resources.map(({ location }) => location.path ?? ''),
      ...below.flatMap((input) => [...input.inputFiles]),
    ]),
    comments: new Map([...comments, ...below.flatMap((input) => [...input.comments])]),
  }
}
