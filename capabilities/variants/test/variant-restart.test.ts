// A start of the process over variants that are as wanted: nothing is read from git, and nothing is written.
import { expect, test } from 'vitest'
import { Disturbance } from '../../../test/support/disturbed-transport.ts'
import { VariantStage } from './stage.ts'

const point = `apiVersion: v1
kind: ConfigMap
metadata:
  name: endpoints
  annotations:
    kpt.dev/config-injection: required
`

test('a restart over variants that are as wanted makes 0 reads of git and 0 writes', async () => {
  await using stage = await VariantStage.start()
  await stage.configMap('east', { db: '10.0.0.1' })
  await stage.publish('web', 'v1', { 'endpoints.yaml': point })
  const of = (name: string, more: object): object => ({
    downstream: { repo: 'edge', package: name },
    injectors: [{ name: 'east' }],
    ...more,
  })
  const validators = [{ image: 'validate-cel:v1', configMap: { maps: "object.kind != 'ConfigMap'" } }]
  await stage.apply('draft', of('draft', {}))
  await stage.apply('published', of('published', {}))
  await stage.apply(
    'failing',
    of('failing', { annotations: { 'porch.kpt.dev/push-on-render-failure': 'true' }, pipeline: { validators } }),
  )
  await stage.approve((await stage.ready('published')).status!.downstreamTargets![0]!.name)
  for (const name of ['draft', 'published', 'failing'])
    await stage.variant(name, ({ status }) => {
      const target = status?.downstreamTargets?.[0]
      return target?.commit !== undefined && target.lifecycle === (name === 'published' ? 'Published' : 'Draft')
    })
  await stage.stopVariants()
  // Events that were on their way at the stop are in the lists of this start.
  await stage.startVariants()
  await stage.passes(3)
  await stage.stopVariants()
  const restarted = new Disturbance()
  await stage.startVariants(restarted)
  await stage.passes(3)
  expect([...restarted.used].filter((right) => !/^(list|watch) /.test(right))).toEqual([])
})
