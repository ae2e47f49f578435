// Plays the requests of a scenario against a real API server and records its responses in place of those that were
// there.
import { setTimeout as delay } from 'node:timers/promises'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { Kubectl, withoutNoise } from '../../support/kubectl.ts'
import type { ActualResponse } from '../replay/compare.ts'
import type { HttpRequest, Scenario, Step } from '../replay/scenario.ts'
import type { ReplayServer } from '../replay/server.ts'
import { fillText, newScope } from '../replay/template.ts'
import type { TemplateScope } from '../replay/template.ts'
import { holds, kubectlHolds, pollMs, untilMs } from '../replay/until.ts'
import { keepsBookmarks, WatchStream } from '../replay/watch-stream.ts'
import { headersOf, open, read } from '../replay/wire.ts'
import { Placeholders } from './placeholders.ts'

/** Cluster-scoped collections that a scenario may leave something in. */
const clusterScoped = [
  'api/v1/namespaces',
  'api/v1/nodes',
  'api/v1/persistentvolumes',
  'apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  'apis/rbac.authorization.k8s.io/v1/clusterroles',
  'apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  'apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  'apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  'apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  'apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  'apis/apiregistration.k8s.io/v1/apiservices',
  'apis/scheduling.k8s.io/v1/priorityclasses',
  'apis/storage.k8s.io/v1/storageclasses',
  'apis/networking.k8s.io/v1/ingressclasses',
]

type Answer =
  | { readonly kind: 'http'; readonly response: ActualResponse }
  | { readonly kind: 'events'; readonly events: readonly JsonObject[]; readonly ended: boolean }
  | { readonly kind: 'kubectl'; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'none' }

/** The scenario with the responses of this server. Throws when an `until` never holds or a template has no value. */
export async function record(scenario: Scenario, server: ReplayServer, kubectl: string | undefined): Promise<Scenario> {
  const scope = newScope()
  const answers: Answer[] = []
  const watches = new Map<string, WatchStream>()
  using command = kubectl === undefined ? undefined : new Kubectl(kubectl, server.kubeconfig)
  try {
    if (scenario.namespace) await send(server, namespaceRequest(scope), scope)
    for (const [index, step] of scenario.steps.entries()) {
      const answer = await take(step, { scenario, server, scope, watches, command }).catch((error: unknown) => {
        throw new Error(`${scenario.name}, step ${index}: ${error instanceof Error ? error.message : String(error)}`)
      })
      answers.push(answer)
      scope.steps[index] = asTemplateValue(answer)
    }
  } finally {
    for (const watch of watches.values()) watch.close()
    await cleanUp(server, scope)
  }
  return written(scenario, answers, new Placeholders(scope.id, `127.0.0.1:${server.target.port}`))
}

interface Run {
  readonly scenario: Scenario
  readonly server: ReplayServer
  readonly scope: TemplateScope
  readonly watches: Map<string, WatchStream>
  readonly command: Kubectl | undefined
}

async function take(step: Step, { scenario, server, scope, watches, command }: Run): Promise<Answer> {
  if (step.kind === 'sleep') await delay(Number(step.ms))
  else if (step.kind === 'compact') await server.compact()
  else if (step.kind === 'http') {
    const { request, until } = step
    const response = await repeated(
      () => send(server, request, scope),
      (answer) => until === undefined || holds(until, answer, scope),
    )
    return { kind: 'http', response }
  } else if (step.kind === 'watch') {
    const message = await open(server.target, step.request, scope)
    if (message.statusCode !== 200) return { kind: 'http', response: await read(message) }
    watches.set(step.watch, new WatchStream(message))
    const response = { status: 200, headers: headersOf(message), bytes: Buffer.alloc(0), json: undefined }
    return { kind: 'http', response }
  } else if (step.kind === 'events') {
    const stream = watches.get(step.watch)
    if (stream === undefined) throw new Error(`no watch named ${step.watch} is open`)
    const count = step.count === null ? null : Number(step.count)
    const taken = await stream.take({ count, untilEnd: step.untilEnd, keepBookmarks: keepsBookmarks(scenario) })
    return { kind: 'events', ...taken }
  } else {
    if (command === undefined) throw new Error('kubectl is not here')
    const args = step.args.map((argument) => fillText(argument, scope))
    const stdin = step.stdin === undefined ? undefined : fillText(step.stdin, scope)
    const result = await repeated(
      async () => withoutNoise(await command.run(args, stdin)),
      (actual) => kubectlHolds(step.until, actual, scope),
    )
    return { kind: 'kubectl', ...result }
  }
  return { kind: 'none' }
}

async function repeated<T>(attempt: () => Promise<T>, isDone: (result: T) => boolean): Promise<T> {
  const deadline = performance.now() + untilMs
  let result = await attempt()
  while (!isDone(result)) {
    if (performance.now() > deadline) throw new Error('what it waits for never held')
    await delay(pollMs)
    result = await attempt()
  }
  return result
}

async function send(server: ReplayServer, request: HttpRequest, scope: TemplateScope): Promise<ActualResponse> {
  return read(await open(server.target, request, scope))
}

function namespaceRequest({ ns }: TemplateScope): HttpRequest {
  return {
    method: 'POST',
    path: '/api/v1/namespaces',
    headers: { 'Content-Type': 'application/json' },
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ns } },
  }
}

function asTemplateValue(answer: Answer): JsonValue {
  if (answer.kind === 'http')
    return {
      status: answer.response.status,
      headers: answer.response.headers as JsonValue,
      body: answer.response.json ?? null,
    }
  if (answer.kind === 'events') return { events: answer.events }
  if (answer.kind === 'kubectl')
    return { result: { exitCode: answer.exitCode, stdout: answer.stdout, stderr: answer.stderr } }
  return {}
}

function written(scenario: Scenario, answers: readonly Answer[], placeholders: Placeholders): Scenario {
  for (const answer of answers) {
    if (answer.kind === 'http' && answer.response.json !== undefined) placeholders.learn(answer.response.json)
    if (answer.kind === 'events') placeholders.learn(answer.events as JsonValue)
  }
  const steps = scenario.steps.map((step, index): Step => {
    const answer = answers[index] as Answer
    if ((step.kind === 'http' || step.kind === 'watch') && answer.kind === 'http')
      return { ...step, response: { ...bodyOf(answer.response, placeholders), ...flagsOf(step.response) } }
    if (step.kind === 'events' && answer.kind === 'events')
      return {
        ...step,
        events: placeholders.apply(answer.events as JsonValue) as readonly JsonObject[],
        ended: answer.ended,
      }
    if (step.kind === 'kubectl' && answer.kind === 'kubectl') {
      const result = {
        exitCode: answer.exitCode,
        stdout: placeholders.output(answer.stdout),
        stderr: placeholders.output(answer.stderr),
      }
      return { ...step, result: step.result?.unorderedLines ? { ...result, unorderedLines: true } : result }
    }
    return step
  })
  return { ...scenario, steps }
}

/** Keeps `unorderedCauses` as it was set by hand. */
function flagsOf(response: { readonly unorderedCauses?: boolean } | undefined): { unorderedCauses?: true } {
  return response?.unorderedCauses ? { unorderedCauses: true } : {}
}

function bodyOf(
  response: ActualResponse,
  placeholders: Placeholders,
): {
  status: number
  headers: Record<string, string | readonly string[]>
  body?: JsonValue
  text?: string
  base64?: string
} {
  const head = { status: response.status, headers: placeholders.headers(response.headers) }
  if (response.json !== undefined) return { ...head, body: placeholders.apply(response.json) }
  if (response.bytes.length === 0) return head
  if (String(response.headers['content-type']).includes('protobuf'))
    return { ...head, base64: response.bytes.toString('base64') }
  return { ...head, text: placeholders.output(response.bytes.toString()) }
}

/** Deletes what the scenario made outside its namespace, and the namespace. */
async function cleanUp(server: ReplayServer, scope: TemplateScope): Promise<void> {
  const call = (method: string, path: string, body?: JsonValue): Promise<ActualResponse> =>
    send(
      server,
      {
        method,
        path,
        headers: { 'Content-Type': 'application/merge-patch+json' },
        ...(body === undefined ? {} : { body }),
      },
      { ...scope, steps: [] },
    )
  for (const collection of clusterScoped) {
    const { json } = await call('GET', `/${collection}`)
    const items = ((json as JsonObject | undefined)?.['items'] ?? []) as readonly JsonObject[]
    for (const item of items) {
      const { name } = item['metadata'] as { name: string }
      if (!name.includes(scope.id)) continue
      await call('DELETE', `/${collection}/${name}`)
      if (collection.endsWith('customresourcedefinitions'))
        await waitUntilDeleted(() => call('GET', `/${collection}/${name}`))
    }
  }
}

async function waitUntilDeleted(get: () => Promise<ActualResponse>): Promise<void> {
  const deadline = performance.now() + untilMs
  while ((await get()).status !== 404 && performance.now() < deadline) await delay(pollMs)
}
