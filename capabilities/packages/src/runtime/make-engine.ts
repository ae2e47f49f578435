// The engine of the server: renders and updates packages. Functions of other packages never run here.
import type { RenderReport } from '../api.ts'
import type { FunctionRunner } from '../engine/function-runner.ts'
import type { PipelineStep } from '../engine/kptfile/kptfile.ts'
import { PackageError } from '../engine/package-error.ts'
import { renderPackage } from '../engine/render/render-package.ts'
import type { RenderOutcome } from '../engine/render/render-package.ts'
import { withRenderStatus } from '../engine/render/status-file.ts'
import { updatePackage } from '../engine/update/update-package.ts'
import { functionOf } from '../functions/functions.ts'
import type { PackageEngine } from './package-engine.ts'

/** Runs the functions of this package. */
const ownFunctions: FunctionRunner = {
  inProcess: ({ image }) => (image === undefined ? undefined : functionOf(image)),
  run: ({ image = '', exec = '' }) =>
    Promise.reject(new PackageError('UnknownFunction', `no runner takes the function ${image === '' ? exec : image}`)),
}

/** Returns the engine; `runner` runs functions, those of this package when left out. */
export function makeEngine(runner: FunctionRunner = ownFunctions): PackageEngine {
  return {
    async render(files, signal) {
      const outcome = await renderPackage(files, runner, { signal })
      return { files: withRenderStatus(outcome), report: reportOf(outcome), failure: outcome.failure }
    },
    update: (update) => updatePackage({ ...update, annotate: true }),
  }
}

/** Returns the outcome as the API reports it. */
function reportOf({ status, failure, error }: RenderOutcome): RenderReport {
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

function resultOf({ image, exec, stderr, exitCode, results, errorResults }: PipelineStep): object {
  const all = [...(results ?? []), ...(errorResults ?? [])]
  return {
    ...(image !== undefined && { image }),
    ...(exec !== undefined && { exec }),
    ...(stderr !== undefined && stderr !== '' && { stderr }),
    exitCode,
    ...(all.length > 0 && { results: all }),
  }
}
