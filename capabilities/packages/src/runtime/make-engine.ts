// The engine of the server: renders and updates packages. Only functions of this package run here, in worker threads.
import type { RenderReport } from '../api.ts'
import type { PipelineStep } from '../engine/kptfile/kptfile.ts'
import type { PackageRenderer } from './functions/package-renderer.ts'
import type { RenderResult } from './functions/render-messages.ts'
import type { PackageEngine } from './package-engine.ts'

/** Returns the engine. */
export function makeEngine(renderer: PackageRenderer): PackageEngine {
  return {
    async render(files, signal) {
      const job = { type: 'render', files, allowExec: false, writesStatus: true } as const
      const result = await renderer.run(job, { signal })
      return { files: result.files, report: reportOf(result), failure: result.failure ?? result.error?.message }
    },
    update: async (update, signal) => await renderer.update({ ...update, annotate: true }, { signal }),
  }
}

/** Returns the outcome as the API reports it. */
function reportOf({ status, failure, error }: RenderResult): RenderReport {
  const steps = [...(status?.mutationSteps ?? []), ...(status?.validationSteps ?? [])]
  return {
    result: {
      apiVersion: 'kpt.dev/v1',
      kind: 'FunctionResultList',
      metadata: { name: 'fnresults' },
      exitCode: failure === undefined ? 0 : 1,
      ...(steps.length > 0 && { items: steps.map(resultOf) }),
    },
    error: failure ?? error?.message ?? '',
  }
}

/** Returns a step's results once: `errorResults` are some of `results`. */
function resultOf({ image, exec, stderr, exitCode, results = [] }: PipelineStep): object {
  return {
    ...(image !== undefined && { image }),
    ...(exec !== undefined && { exec }),
    ...(stderr !== undefined && stderr !== '' && { stderr }),
    exitCode,
    ...(results.length > 0 && { results }),
  }
}
