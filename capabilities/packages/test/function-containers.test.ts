// Functions that run outside of the process: images with a container engine, programs at their time limit. The engine
// is a program of that name on the path, which records its arguments.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { FakeClock } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'
import { PackageRenderer } from '../src/runtime/functions/package-renderer.ts'
import type { PackageRendererOptions } from '../src/runtime/functions/package-renderer.ts'
import type { RenderResult } from '../src/runtime/functions/render-messages.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-containers-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const image = 'example.org/team/stamp:v3'
const calls = (): readonly string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')

/** Puts a container engine on the path of the test; `run` is a shell command that reads the ResourceList. */
function addEngine(name: 'docker' | 'podman', run = 'cat'): void {
  const script = `#!/bin/sh
echo "${name} $*" >> '${folder}/calls'
[ "$1" = run ] || exit 0
${run}
`
  writeFileSync(join(folder, name), script)
  chmodSync(join(folder, name), 0o755)
}

interface RunOptions extends PackageRendererOptions {
  readonly step?: string
  readonly signal?: AbortSignal
}

async function render({
  step = `image: ${image}`,
  signal = new AbortController().signal,
  ...options
}: RunOptions = {}): Promise<RenderResult> {
  const kptfile = `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n    - ${step}\n`
  const files = new Map([
    ['Kptfile', kptfile],
    ['a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: one\n'],
  ])
  const environment = { PATH: `${folder}${delimiter}/nowhere`, KPT_FN_RUNTIME: '' }
  await using renderer = new PackageRenderer({ workers: 1, containers: true, environment, ...options })
  return await renderer.run({ type: 'render', files, allowExec: true, writesStatus: false }, { signal })
}

describe('an image that is not built in', () => {
  test('runs without network, privileges and unbounded memory, and is removed', async () => {
    addEngine('docker', "sed 's/k: one/k: two/'")
    const result = await render({ limits: { timeout: 60_000, memory: 96 }, pullPolicy: 'Never' })
    expect(result.error).toBeUndefined()
    expect(result.files.get('a.yaml')).toContain('k: two\n')
    expect(calls().map((call) => call.replace(/(?<=function-)[0-9a-f-]{36}/, 'ID'))).toEqual([
      `docker run --rm -i --name=fairlead-function-ID --network=none --user=65534 --security-opt=no-new-privileges ` +
        `--cap-drop=ALL --memory=96m --memory-swap=96m --pids-limit=256 --pull=never ${image}`,
    ])
  })

  test('runs with the engine that KPT_FN_RUNTIME names, else with docker', async () => {
    addEngine('docker')
    addEngine('podman')
    const PATH = folder
    await render({ environment: { PATH } })
    await render({ environment: { PATH, KPT_FN_RUNTIME: 'podman' } })
    expect(calls().map((call) => call.split(' ')[0])).toEqual(['docker', 'podman'])
  })

  test('is an unknown function without an engine', async () => {
    const { error } = await render()
    expect(error).toEqual({
      code: 'UnknownFunction',
      message: `function ${image} is not built in, and there is neither docker nor podman to run its image`,
    })
  })

  test('is refused when its name would be an option of the engine', async () => {
    addEngine('docker')
    const { error } = await render({ step: 'image: --volume=/:/host' })
    expect(error?.message).toBe('function --volume=/:/host:latest is not built in, and no name of an image')
  })

  test('fails with the exit code and the standard error of its container', async () => {
    addEngine('docker', 'echo "manifest unknown" >&2; exit 125')
    const { results } = await render()
    expect(results).toEqual([{ image, stderr: 'manifest unknown', exitCode: 125 }])
  })

  test('fails when its output is no ResourceList, and changes nothing', async () => {
    addEngine('docker', 'echo "{ not: [yaml"')
    const result = await render()
    expect(result.error?.code).toBe('InvalidYaml')
    expect(result.files.get('a.yaml')).toContain('k: one\n')
  })

  const running = async (): Promise<void> =>
    await eventually(() => expect(readFileSync(join(folder, 'calls'), 'utf8')).toContain(' run '))

  test('is ended and its container removed at the time limit', async () => {
    addEngine('docker', 'exec /bin/sleep 600')
    const clock = new FakeClock()
    const rendering = render({ clock, limits: { timeout: 4_000, memory: 96 } })
    await running()
    await clock.advance(4_000)
    expect((await rendering).error).toEqual({
      code: 'FunctionTimeout',
      message: `function ${image} did not finish within 4 s`,
    })
    const [run, removal] = calls()
    expect(removal).toBe(`docker rm --force ${/--name=(\S+)/.exec(run!)?.[1]}`)
  })

  test('is ended and its container removed when the caller gives up', async () => {
    addEngine('docker', 'exec /bin/sleep 600')
    const controller = new AbortController()
    const rendering = render({ signal: controller.signal })
    await running()
    controller.abort(new Error('stopped'))
    await expect(rendering).rejects.toThrow('stopped')
    await eventually(() => expect(calls().at(-1)).toMatch(/^docker rm --force fairlead-function-/))
  })
})

test('a program and what it started end at the time limit', async () => {
  const clock = new FakeClock()
  const started = join(folder, 'started')
  const program = join(folder, 'hang')
  // The child holds standard output open: the render ends only when it is gone, too.
  writeFileSync(program, `#!/bin/sh\n/bin/sleep 600 &\necho $! > '${started}'\nwait\n`)
  chmodSync(program, 0o755)
  const rendering = render({ clock, limits: { timeout: 4_000, memory: 96 }, step: `exec: ${program}` })
  const child = await eventually(() => {
    const pid = Number(readFileSync(started, 'utf8'))
    expect(pid).toBeGreaterThan(0)
    return pid
  })
  await clock.advance(4_000)
  expect((await rendering).error?.message).toBe(`function ${program} did not finish within 4 s`)
  await eventually(() => expect(() => process.kill(child, 0)).toThrow('ESRCH'))
})
