import { ApiServer } from '@fairlead/apiserver'
import { Manager } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { turns, until } from '../../../test/support/until.ts'

test('metrics have the names and labels of controller-runtime, and gauges of a stopped controller are removed', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock()
  await using manager = await Manager.start({ client: server.client(), clock })
  let go: () => void = () => {}
  using _release = { [Symbol.dispose]: () => go() }
  const loop = manager.loop<string>({
    name: 'test',
    id: (item) => item,
    concurrency: 2,
    run: async (item) => {
      if (item === 'slow') await new Promise<void>((resolve) => (go = resolve))
    },
  })
  for (const item of ['slow', 'a', 'b']) loop.add(item)
  await until('the quick ones are done', () => loop.queue.length === 0 && loop.active === 1)
  await clock.advance(3000)
  const lines = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket') && !line.includes('_sum'))
  expect(lines(await manager.metrics.text()).filter((line) => line.includes('"test"'))).toEqual([
    'controller_runtime_reconcile_total{controller="test",result="success"} 2',
    'controller_runtime_reconcile_total{controller="test",result="requeue_after"} 0',
    'controller_runtime_reconcile_total{controller="test",result="error"} 0',
    'controller_runtime_reconcile_total{controller="test",result="terminal_error"} 0',
    'controller_runtime_reconcile_errors_total{controller="test"} 0',
    'controller_runtime_terminal_reconcile_errors_total{controller="test"} 0',
    'controller_runtime_reconcile_time_seconds_count{controller="test"} 2',
    'controller_runtime_active_workers{controller="test"} 1',
    'controller_runtime_max_concurrent_reconciles{controller="test"} 2',
    'workqueue_depth{name="test",controller="test"} 0',
    'workqueue_adds_total{name="test",controller="test"} 3',
    'workqueue_queue_duration_seconds_count{name="test",controller="test"} 3',
    'workqueue_work_duration_seconds_count{name="test",controller="test"} 2',
    'workqueue_retries_total{name="test",controller="test"} 0',
    'workqueue_unfinished_work_seconds{name="test",controller="test"} 3',
    'workqueue_longest_running_processor_seconds{name="test",controller="test"} 3',
  ])
  go()
  await loop.stop()
  await turns()
  expect(
    lines(await manager.metrics.text()).filter(
      (line) => /"test"/.test(line) && /active|unfinished|longest|depth|concurrent/.test(line),
    ),
  ).toEqual([
    'controller_runtime_active_workers{controller="test"} 0',
    'workqueue_depth{name="test",controller="test"} 0',
  ])
})
