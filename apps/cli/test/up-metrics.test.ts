import { connect } from '@fairlead/client'
import { expect, test } from 'vitest'
import { UpProcess } from '../../../test/faults/up-process.ts'
import { withFolder } from './support/command.ts'

test('/metrics of `fairlead up` shows the controllers beside the API server', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, ['--in-memory'])
    try {
      const client = await connect({ file: up.kubeconfig })
      const response = await client.sendRaw({ method: 'GET', path: '/metrics' })
      await client.transport[Symbol.asyncDispose]()
      const names = String(response.body).matchAll(/^# TYPE (\w+)/gm)
      const prefixes = new Set(Array.from(names, ([, name]) => name!.split('_').slice(0, 2).join('_')))
      expect([...prefixes]).toEqual(
        expect.arrayContaining([
          'apiserver_request',
          'controller_runtime',
          'workqueue_depth',
          'metacontroller_map',
          'fairlead_map',
        ]),
      )
      const depths = String(response.body).matchAll(/^workqueue_depth\{name="([\w-]+)"/gm)
      expect(Array.from(depths, ([, name]) => name)).toEqual(
        expect.arrayContaining(['actions', 'runnable', 'workload']),
      )
    } finally {
      await up.stop()
    }
  }))
