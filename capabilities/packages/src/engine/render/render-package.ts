// Renders a package: runs the pipelines of its Kptfile and of the packages below it. Start with renderPackage.
import type { Kptfile, PipelineStep, RenderStatus } from '../kptfile/kptfile.ts'
import { parseKptfile } from '../kptfile/kptfile.ts'
import type { FunctionRunner } from '../function-runner.ts'
import { PackageError } from '../package-error.ts'
import type { PackageFiles } from '../package-files.ts'
import type { PackageFolder } from './package-tree.ts'
import { joinPath, packageTree } from './package-tree.ts'
import { functionConfigs, withPipeline } from './pipeline-source.ts'
import type { PipelineSteps, RenderContext, RenderEvent } from './pipeline.ts'
import { runPipeline } from './pipeline.ts'
import { configPathProblem, pipelineProblem } from './pipeline-check.ts'
import { RenderError } from './render-error.ts'
import { renderStatusOf } from './render-status.ts'
import type { Resource } from './resource.ts'
import type { CommentDocument } from './resource-file.ts'
import { localResources } from './resource-file.ts'
import { outsidePackage, writeResources } from './resource-writer.ts'

/** Options of a render. */
export interface RenderOptions {
  readonly signal: AbortSignal
  /** Lets functions with `exec` run. */
  readonly allowExec?: boolean
  /** Parents before the packages below them; the annotation `kpt.dev/bfs-rendering` of the root when left out. */
  readonly breadthFirst?: boolean
  /** Registry and repository of images that name none. */
  readonly imagePrefix?: string
  /**
   * A version of the package whose pipelines and function configs run in place of those of the files; a package that it
   * does not have keeps its own. Renders two versions alike (see `updateRenderedPackage`); validators do not run.
   */
  readonly pipelines?: PackageFiles
  readonly onEvent?: (event: RenderEvent) => void
}

/** The outcome of a render. */
export interface RenderOutcome {
  /**
   * The files afterwards. After a failure they are those before, unless the root's annotation
   * `kpt.dev/save-on-render-failure` asks for what was rendered so far.
   */
  readonly files: PackageFiles
  /** The functions that ran, in order. */
  readonly results: readonly PipelineStep[]
  /** Why the render failed. */
  readonly error?: PackageError
  /** The failure in the words of kpt, with all its levels; for the condition `Rendered`. */
  readonly failure?: string
  readonly status: RenderStatus | undefined
  /** The resources afterwards, in order. */
  readonly resources: readonly Resource[]
  /** Packages that were reached, and functions that passed. */
  readonly packages: number
  readonly functions: number
}

/** Annotations of the root Kptfile. */
const breadthFirstAnnotation = 'kpt.dev/bfs-rendering'
const saveOnFailureAnnotation = 'kpt.dev/save-on-render-failure'

/**
 * Renders a package. Never throws for a function that fails or a package at fault: the outcome has the error.
 * @throws the signal's reason when it aborts
 */
export async function renderPackage(
  files: PackageFiles,
  runner: FunctionRunner,
  options: RenderOptions,
): Promise<RenderOutcome> {
  return await new Render(files, runner, options).run()
}

interface PackageNode {
  readonly folder: PackageFolder
  readonly kptfile: Kptfile
  readonly children: PackageNode[]
  resources: readonly Resource[]
}

class Render {
  readonly #files: PackageFiles
  readonly #breadthFirst: boolean | undefined
  readonly #pipelines: PackageFiles | undefined
  readonly #context: RenderContext
  readonly #inputFiles = new Set<string>()
  readonly #comments = new Map<string, readonly CommentDocument[]>()
  #packages = 0
  #functions = 0

  constructor(files: PackageFiles, runner: FunctionRunner, options: RenderOptions) {
    this.#files = files
    this.#breadthFirst = options.breadthFirst
    this.#pipelines = options.pipelines
    this.#context = {
      runner,
      signal: options.signal,
      allowExec: options.allowExec ?? false,
      imagePrefix: options.imagePrefix,
      ...(options.pipelines !== undefined && { configs: functionConfigs(options.pipelines) }),
      mutationSteps: [],
      validationSteps: [],
      onEvent: (event) => {
        if (event.type === 'passed') this.#functions += 1
        options.onEvent?.(event)
      },
    }
  }

  async run(): Promise<RenderOutcome> {
    let root: PackageNode
    try {
      root = this.#read(packageTree(this.#files))
    } catch (error) {
      return this.#outcome(this.#files, [], asError(error))
    }
    const { annotations = {} } = root.kptfile.metadata
    const isSaved = isTrue(annotations[saveOnFailureAnnotation])
    const isBreadthFirst = this.#breadthFirst ?? isTrue(annotations[breadthFirstAnnotation])
    let failure: Error | undefined
    try {
      failure = isBreadthFirst ? await this.#breadthFirstRender(root) : await this.#depthFirstRender(root)
    } catch (error) {
      this.#context.signal.throwIfAborted()
      failure = asError(error)
    }
    if (failure !== undefined && !isSaved) return this.#outcome(this.#files, [], failure)
    const misplaced = outsidePackage(root.resources)
    if (misplaced !== undefined) return this.#outcome(this.#files, [], new PackageError('InvalidPackage', misplaced))
    const origin = { inputFiles: this.#inputFiles, comments: this.#comments }
    const files = writeResources(this.#files, root.resources, origin, failure === undefined)
    return this.#outcome(files, root.resources, failure)
  }

  /** Reads the Kptfile of a package. @throws RenderError, PackageError */
  #read(folder: PackageFolder): PackageNode {
    const path = joinPath(folder.path, 'Kptfile')
    const content = this.#files.get(path) ?? this.#pipelines?.get(path)
    if (typeof content !== 'string')
      throw new PackageError('InvalidPackage', `No Kptfile found at "${folder.path === '' ? '.' : folder.path}".`)
    const kptfile = withPipeline(parseKptfile(content, path), this.#pipelines?.get(path), path)
    const problem = pipelineProblem(kptfile, folder, new Map([...this.#files, ...(this.#pipelines ?? [])]))
    if (problem !== undefined) throw new PackageError('InvalidKptfile', problem)
    return { folder, kptfile, children: [], resources: [] }
  }

  /** Reads the resources of a package and the packages below it. */
  #load(node: PackageNode): void {
    const { resources, comments } = localResources(node.folder, this.#files)
    for (const { location } of resources) this.#inputFiles.add(joinPath(node.folder.path, location.path ?? ''))
    for (const [path, documents] of comments) this.#comments.set(path, documents)
    node.resources = resources
  }

  #child(parent: PackageNode, folder: PackageFolder): PackageNode {
    try {
      const child = this.#read(folder)
      parent.children.push(child)
      return child
    } catch (error) {
      throw new RenderError('pkg.render', folder.path, asError(error))
    }
  }

  /** Packages below first; each package sees their output, in front of its own resources. */
  async #depthFirstRender(node: PackageNode): Promise<Error | undefined> {
    const { path, subpackages } = node.folder
    this.#packages += 1
    this.#load(node)
    const local = node.resources
    const outputs: Resource[] = []
    for (const folder of subpackages) {
      const child = this.#child(node, folder)
      const error = await this.#depthFirstRender(child)
      outputs.push(...child.resources)
      node.resources = [...outputs, ...local]
      if (error !== undefined) return new RenderError('pkg.render', folder.path, error)
    }
    const own = localPaths(node)
    const { resources, error } = await this.#runPipeline(node, own, node.resources)
    node.resources = resources
    return error === undefined ? undefined : new RenderError('pkg.render', path, error)
  }

  /** Parents first; each package sees itself and the packages below it. */
  async #breadthFirstRender(root: PackageNode): Promise<Error | undefined> {
    const nodes: PackageNode[] = [root]
    const own = new Map<PackageNode, ReadonlySet<string>>()
    for (const node of nodes) {
      this.#packages += 1
      this.#load(node)
      own.set(node, localPaths(node))
      for (const folder of node.folder.subpackages) nodes.push(this.#child(node, folder))
    }
    for (const node of nodes) {
      const input = withDescendants(node)
      const { resources, error } = await this.#runPipeline(node, own.get(node)!, input)
      for (const target of nodes) {
        const isBelow = target === node || isDescendant(node, target)
        if (isBelow) target.resources = resources.filter(({ location }) => location.packagePath === target.folder.path)
      }
      if (error !== undefined) {
        root.resources = nodes.flatMap((each) => each.resources)
        return new RenderError('pkg.render', '', error)
      }
    }
    root.resources = nodes.flatMap((node) => node.resources)
    return undefined
  }

  async #runPipeline(
    { folder, kptfile }: PackageNode,
    paths: ReadonlySet<string>,
    input: readonly Resource[],
  ): ReturnType<typeof runPipeline> {
    const steps: PipelineSteps = {
      mutators: kptfile.pipeline?.mutators ?? [],
      validators: this.#pipelines === undefined ? (kptfile.pipeline?.validators ?? []) : [],
    }
    const { configs } = this.#context
    const isConfig = (path: string): boolean => paths.has(path) || configs?.has(joinPath(folder.path, path)) === true
    const problem = configPathProblem(steps, isConfig)
    if (problem !== undefined) return { resources: input, error: new PackageError('InvalidKptfile', problem) }
    return await runPipeline(steps, folder.path, input, this.#context)
  }

  #outcome(files: PackageFiles, resources: readonly Resource[], failure: Error | undefined): RenderOutcome {
    const { mutationSteps, validationSteps } = this.#context
    return {
      files,
      resources,
      results: [...mutationSteps, ...validationSteps],
      status: renderStatusOf(mutationSteps, validationSteps),
      packages: this.#packages,
      functions: this.#functions,
      ...(failure !== undefined && { failure: failure.message, error: errorOf(failure) }),
    }
  }
}

/** Returns the error that users see: the cause, without the levels above it. */
function errorOf(failure: Error): PackageError {
  const cause = failure instanceof RenderError ? failure.root : failure
  if (cause instanceof PackageError) return cause
  return new PackageError('FunctionFailed', cause.message, {}, { cause: failure })
}

function asError(error: unknown): Error {
  if (error instanceof PackageError || error instanceof RenderError) return error
  throw error
}

function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true'
}

function localPaths({ resources, folder }: PackageNode): ReadonlySet<string> {
  return new Set(
    resources.filter(({ location }) => location.packagePath === folder.path).map(({ location }) => location.path ?? ''),
  )
}

function withDescendants(node: PackageNode): readonly Resource[] {
  return [...node.resources, ...node.children.flatMap((child) => withDescendants(child))]
}

function isDescendant(node: PackageNode, other: PackageNode): boolean {
  return node.children.some((child) => child === other || isDescendant(child, other))
}
