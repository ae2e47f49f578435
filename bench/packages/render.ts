// Renders: 1,000 resources through four functions, with a new thread, with the files of the render before, and with one
// file changed.
import { systemClock } from '@fairlead/client'
import { PackageRenderer } from '../../capabilities/packages/src/runtime/functions/package-renderer.ts'
import type { RenderJob } from '../../capabilities/packages/src/runtime/functions/render-messages.ts'
import type { Figure } from '../figure.ts'

const count = 1_000

const kptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - image: set-namespace
      configMap: {namespace: prod}
    - image: set-labels
      configMap: {tier: web}
    - image: set-annotations
      configMap: {owner: team}
    - image: set-image
      configMap: {name: nginx, newTag: "1.15"}
`

/** Measures the renders. */
export async function render(): Promise<readonly Figure[]> {
  await using renderer = new PackageRenderer({ workers: 1 })
  const cold = await timed(renderer, job(0))
  const unchanged = await timed(renderer, job(0))
  const changed = await timed(renderer, job(1))
  const title = `render ${count} resources through 4 functions`
  return [
    { figure: `${title}, cold`, asked: '1.5 s', reached: shown(cold), holds: cold.wall <= 1_500 },
    {
      figure: `${title}, files unchanged`,
      asked: '300 ms',
      reached: shown(unchanged),
      holds: unchanged.wall <= 300,
    },
    {
      figure: `${title}, one file changed, thread warm`,
      asked: '',
      reached: shown(changed),
      holds: undefined,
    },
  ]
}

/** Milliseconds on the clock, and of all threads on a processor. */
interface Time {
  readonly wall: number
  readonly user: number
}

async function timed(renderer: PackageRenderer, request: RenderJob): Promise<Time> {
  const used = process.cpuUsage()
  const started = systemClock.monotonic()
  const { error } = await renderer.run(request, { signal: new AbortController().signal })
  if (error !== undefined) throw new Error(error.message)
  const wall = systemClock.monotonic() - started
  return { wall, user: process.cpuUsage(used).user / 1000 }
}

/** Returns the time, with that of the processor, which a busy machine does not change much. */
function shown({ wall, user }: Time): string {
  return `${(wall / 1000).toFixed(2)} s (CPU ${(user / 1000).toFixed(2)} s)`
}

function job(seed: number): RenderJob {
  const resources = Array.from({ length: count }, (_, index): [string, string] => [
    `deployment-${index}.yaml`,
    deployment(index === 0 ? `web-${seed}-${index}` : `web-${index}`),
  ])
  return {
    type: 'render',
    files: new Map([['Kptfile', kptfile], ...resources]),
    allowExec: false,
    writesStatus: true,
  }
}

function deployment(name: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  namespace: default
  labels:
    app: web # kpt-set: \${app}
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: nginx:1.14.2
          env:
            - name: A
              value: "1"
          ports:
            - containerPort: 80
              protocol: TCP
          resources:
            limits:
              cpu: 100m
              memory: 128Mi
`
}
