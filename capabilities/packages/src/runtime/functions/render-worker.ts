// The worker thread in which packages are parsed, rendered and written. Programs and containers run on the other side.
import { parentPort } from 'node:worker_threads'
import type { FunctionOutput, FunctionRunner } from '../../engine/function-runner.ts'
import { PackageError } from '../../engine/package-error.ts'
import type { PackageFiles } from '../../engine/package-files.ts'
import { evaluateFunction } from '../../engine/render/evaluate-function.ts'
import { failureMessage } from '../../engine/render/failure-message.ts'
import type { RenderEvent } from '../../engine/render/pipeline.ts'
import { renderPackage } from '../../engine/render/render-package.ts'
import { formatResource } from '../../engine/render/resource-file.ts'
import { formatResourceList } from '../../engine/render/resource-list.ts'
import type { Resource } from '../../engine/render/resource.ts'
import { fileOf } from '../../engine/render/resource-writer.ts'
import { withRenderStatus } from '../../engine/render/status-file.ts'
import { updateRenderedPackage } from '../../engine/update/rendered-update.ts'
import { YamlDocument } from '../../engine/yaml/yaml-document.ts'
import { joinDocuments } from '../../engine/yaml/yaml-file.ts'
import { functionOf } from '../../functions/functions.ts'
import type {
  EvaluateJob,
  RenderJob,
  RenderResult,
  ResourceOutput,
  UpdateJob,
  WorkerReply,
  WorkerRequest,
} from './render-messages.ts'

const port = parentPort!
/** The function that the other side runs. */
let waiting: { resolve: (output: FunctionOutput) => void; reject: (error: Error) => void } | undefined

const runner: FunctionRunner = {
  inProcess: ({ image }) => (image === undefined ? undefined : functionOf(image)),
  run: async (reference, resourceList) =>
    await new Promise<FunctionOutput>((resolve, reject) => {
      waiting = { resolve, reject }
      reply({ type: 'run', reference, resourceList })
    }),
}

port.on('message', (request: WorkerRequest) => {
  if (request.type === 'output') waiting?.resolve(request.output)
  else if (request.type === 'error') waiting?.reject(new PackageError(request.error.code, request.error.message))
  else void answer(request)
})

reply({ type: 'ready' })

async function answer(job: RenderJob | EvaluateJob | UpdateJob): Promise<void> {
  try {
    reply({ type: 'result', result: await run(job) })
  } catch (error) {
    reply({ type: 'crash', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

async function run(job: RenderJob | EvaluateJob | UpdateJob): Promise<RenderResult> {
  switch (job.type) {
    case 'render':
      return await render(job)
    case 'evaluate':
      return await evaluate(job)
    case 'update':
      return await update(job)
    default:
      throw new Error(`unknown job ${String(job satisfies never)}`)
  }
}

/** Functions of this package alone: an update runs nothing that a user supplies. */
const builtInRunner: FunctionRunner = {
  inProcess: ({ image }) => (image === undefined ? undefined : functionOf(image)),
  run: async ({ image, exec }) =>
    await Promise.reject(new PackageError('UnknownFunction', `function ${image ?? exec} is not built in`)),
}

async function update({ type: _type, files: local, ...versions }: UpdateJob): Promise<RenderResult> {
  const steps = { results: [], packages: 0, functions: 0 }
  try {
    const updated = await updateRenderedPackage({ ...versions, local }, async (files, pipelines) => {
      const { signal } = new AbortController()
      const outcome = await renderPackage(files, builtInRunner, { signal, pipelines, onEvent })
      return outcome.error === undefined
        ? { files: outcome.files }
        : { failure: failureMessage(outcome.error.message, outcome.results) }
    })
    return { ...updated, ...steps }
  } catch (error) {
    if (!(error instanceof PackageError)) throw error
    return { files: local, ...steps, error: { code: error.code, message: error.message } }
  }
}

async function render(job: RenderJob): Promise<RenderResult> {
  const { allowExec, breadthFirst, imagePrefix, writesStatus, output } = job
  const outcome = await renderPackage(job.files, runner, {
    signal: new AbortController().signal,
    allowExec,
    onEvent,
    ...(breadthFirst !== undefined && { breadthFirst }),
    ...(imagePrefix !== undefined && { imagePrefix }),
  })
  const { status, failure, error, packages, functions } = outcome
  return {
    files: filesOf(job, writesStatus ? withRenderStatus(outcome) : outcome.files, outcome.resources),
    results: outcome.results,
    packages,
    functions,
    ...(status !== undefined && { status }),
    ...(failure !== undefined && { failure }),
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
    ...formatResources(outcome.resources, output),
  }
}

async function evaluate(job: EvaluateJob): Promise<RenderResult> {
  const { allowExec, imagePrefix, config, configFile, step, output, list } = job
  const fields = config === undefined ? undefined : new YamlDocument(configFile ?? '', 1, config).root
  const { files, results, error, resources } = await evaluateFunction(job.files, step, runner, {
    signal: new AbortController().signal,
    allowExec,
    onEvent,
    ...(imagePrefix !== undefined && { imagePrefix }),
    ...(fields !== undefined && { config: fields }),
    ...(configFile !== undefined && { configFile }),
    ...(list !== undefined && { list }),
  })
  return {
    files: filesOf(job, files, resources),
    results,
    packages: 1,
    functions: error === undefined ? 1 : 0,
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
    ...formatResources(resources, output),
  }
}

/** Returns the files of a result. Resources that go elsewhere leave the package as it is. */
function filesOf(job: RenderJob | EvaluateJob, files: PackageFiles, resources: readonly Resource[]): PackageFiles {
  if (job.output === undefined) return files
  if (job.output !== 'files') return job.files
  const paths = new Set(resources.map((resource) => fileOf(resource)))
  return new Map([...files].filter(([path]) => paths.has(path)))
}

function formatResources(
  resources: readonly Resource[],
  output: ResourceOutput | undefined,
): Pick<RenderResult, 'resources'> {
  if (output === undefined || output === 'files') return {}
  return {
    resources:
      output === 'documents'
        ? joinDocuments(resources.map((resource) => formatResource(resource)))
        : formatResourceList(resources, { annotations: (resource) => ({ path: fileOf(resource) }) }),
  }
}

function onEvent(event: RenderEvent): void {
  reply({ type: 'event', event })
}

function reply(message: WorkerReply): void {
  port.postMessage(message)
}
