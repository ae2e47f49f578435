// Renders in worker threads: bounds, programs, unknown images, aborts, and the server's errors.
import { afterAll, describe, expect, test } from 'vitest'
import type { PackageFiles } from '@fairlead/packages'
import { PackageRenderer } from '../src/runtime/functions/package-renderer.ts'
import type { RenderJob, RenderResult } from '../src/runtime/functions/render-messages.ts'

const renderer = new PackageRenderer({ workers: 2 })
afterAll(async () => await renderer[Symbol.asyncDispose]())

const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: "1" # kept\n'

function job(pipeline: string, more: Partial<RenderJob> = {}, resources = configMap): RenderJob {
  const kptfile = `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n${pipeline}`
  const files: PackageFiles = new Map([
    ['Kptfile', kptfile],
    ['a.yaml', resources],
  ])
  return { type: 'render', files, allowExec: false, writesStatus: false, ...more }
}

async function render(request: RenderJob, by = renderer): Promise<RenderResult> {
  return await by.run(request, { signal: new AbortController().signal })
}

const labels = '  mutators:\n    - image: set-labels\n      configMap:\n        tier: web\n'

describe('a render', () => {
  test('gives the same files when its output is rendered again', async () => {
    const first = await render(job(labels))
    const second = await render({ ...job(labels), files: first.files })
    expect(first.error).toBeUndefined()
    expect(first.files.get('a.yaml')).toBe(
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    tier: web\ndata:\n  k: "1" # kept\n',
    )
    expect(second.files).toEqual(first.files)
  })

  test('names the image that is not built in and changes no file', async () => {
    const request = job('  mutators:\n    - image: example.org/team/stamp:v3\n')
    const result = await render(request)
    expect(result.error).toEqual({
      code: 'UnknownFunction',
      message: 'function example.org/team/stamp:v3 is not built in',
    })
    expect(result.files).toEqual(request.files)
    expect(result.status?.mutationSteps).toEqual([
      {
        image: 'example.org/team/stamp:v3',
        executionError: 'function example.org/team/stamp:v3 is not built in',
        exitCode: 1,
      },
    ])
  })

  test('runs no program without permission', async () => {
    const result = await render(job('  mutators:\n    - exec: touch /tmp/never\n'))
    expect(result.error?.message).toBe('must run with `--allow-exec` option to allow running function binaries')
  })

  test('keeps the comments that a program drops, and its standard error', async () => {
    const program = `sed -e 's/"1" # kept/"2"/' -e 'w /dev/stderr'`
    const result = await render(job(`  mutators:\n    - exec: ${JSON.stringify(program)}\n`, { allowExec: true }))
    expect(result.error).toBeUndefined()
    expect(result.files.get('a.yaml')).toBe(configMap.replace('"1"', '"2"'))
    expect(result.results[0]?.stderr).toContain('kind: ResourceList')
  })

  test('reports the exit code of a program that fails', async () => {
    const result = await render(job('  mutators:\n    - exec: "false"\n', { allowExec: true }))
    expect([result.error?.message, result.results]).toEqual(['already handled error', [{ exec: 'false', exitCode: 1 }]])
  })

  test('reports a program that does not exist', async () => {
    const result = await render(job('  mutators:\n    - exec: no-such-program-here\n', { allowExec: true }))
    expect(result.error?.message).toMatch(/^function no-such-program-here could not be started: .*ENOENT/)
  })

  test('that needs more memory than it may fails alone', async () => {
    await using limited = new PackageRenderer({ workers: 1, limits: { timeout: 60_000, memory: 16 } })
    const many = Array.from({ length: 20_000 }, (_, index) => configMap.replace('name: a', `name: a${index}`)).join(
      '---\n',
    )
    const result = await render(job(labels, {}, many), limited)
    expect(result.error).toEqual({ code: 'FunctionMemory', message: 'the render needs more than 16 MiB of memory' })
    expect((await render(job(labels), limited)).error).toBeUndefined()
  })

  test('ends with the signal of its caller', async () => {
    const controller = new AbortController()
    const request = job('  mutators:\n    - exec: sleep 600\n', { allowExec: true })
    const rendering = renderer.run(request, {
      signal: controller.signal,
      onEvent: ({ type }) => (type === 'running' ? controller.abort(new Error('stopped')) : undefined),
    })
    await expect(rendering).rejects.toThrow('stopped')
  })

  test('of files that were rendered before reports the same events and files', async () => {
    const reported: string[][] = []
    const once = async (): Promise<RenderResult> => {
      const events: string[] = []
      reported.push(events)
      const onEvent = ({ type }: { type: string }): void => void events.push(type)
      return await renderer.run(job(labels), { signal: new AbortController().signal, onEvent })
    }
    const [first, second] = [await once(), await once()]
    expect(second.files).toEqual(first.files)
    expect(reported).toEqual(Array(2).fill(['package', 'running', 'passed', 'finished']))
  })

  test('runs a program each time, whatever it printed before', async () => {
    const request = job(`  mutators:\n    - exec: "sh -c 'date +%N >&2; cat'"\n`, { allowExec: true })
    const [first, second] = [await render(request), await render(request)]
    expect([first.error, second.error]).toEqual([undefined, undefined])
    expect(second.results[0]?.stderr).not.toBe(first.results[0]?.stderr)
  })

  test('serves more callers than it has threads', async () => {
    const results = await Promise.all(Array.from({ length: 6 }, async () => await render(job(labels))))
    expect(results.map(({ error }) => error)).toEqual(Array(6).fill(undefined))
  })
})
