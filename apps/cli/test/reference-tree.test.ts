// `fairlead refs tree` as the command composes it: with the kinds of AWS.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fairlead } from './support/command.ts'

test('refs tree shows the references of AWS kinds without their definitions in the files', async () => {
  const example = join(import.meta.dirname, '../../../examples/sagemaker/manifests')
  expect(await fairlead(['refs', 'tree', '-f', example])).toEqual({
    code: 0,
    stdout: `Endpoint default/churn
  -> EndpointConfig default/churn  ReferentNotReady (endpointConfigName)
     -> Model default/churn  ReferentNotReady (productionVariants[0].modelName)
        -> Role default/churn  ReferentNotReady (executionRoleARN)
           -> Policy default/churn  ReferentNotReady (policies[0])
`,
    stderr: '',
  })
})
