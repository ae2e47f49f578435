// Plays one scenario against a fresh server and reports where the responses differ from the recorded ones.
import { setTimeout as delay } from 'node:timers/promises'
import type { JsonValue } from '@fairlead/kube'
import { compareBody, compareResponse, normalise } from './compare.ts'
import type { ActualResponse } from './compare.ts'
import { Kubectl, withoutNoise } from '../../support/kubectl.ts'
import type { EventsStep, HttpStep, KubectlStep, Scenario, WatchStep } from './scenario.ts'
import { startServer } from './server.ts'
import type { ReplayServer } from './server.ts'
import { fill, fillText, newScope } from './template.ts'
import type { TemplateScope } from './template.ts'
import { holds, kubectlHolds, pollMs, untilMs } from './until.ts'
import { Unifier } from './unify.ts'
import type { Difference } from './unify.ts'
import { headersOf, open, read } from './wire.ts'
import { keepsBookmarks, WatchStream } from './watch-stream.ts'

/** The disagreement of one step. */
export interface Disagreement {
  readonly step: number
  readonly request: string
  readonly differences: readonly Difference[]
}

/** The result of a scenario. `strict` is true when it agrees with every message compared exactly. */
export interface Outcome {
  readonly name: string
  readonly result: 'agrees' | 'disagrees' | 'skipped'
  readonly strict: boolean
  readonly disagreements: readonly Disagreement[]
}

/** Plays a scenario; `kubectl` is the path of a kubectl 1.33, without which scenarios that need it are skipped. */
export async function play(scenario: Scenario, kubectl: string | undefined): Promise<Outcome> {
  const needsKubectl = scenario.steps.some((step) => step.kind === 'kubectl')
  if (needsKubectl && kubectl === undefined)
    return { name: scenario.name, result: 'skipped', strict: false, disagreements: [] }
  const server = await startServer()
  try {
    await using player = new Player(scenario, server, kubectl)
    return await player.run()
  } finally {
    await server.stop()
  }
}

class Player implements AsyncDisposable {
  readonly #scenario: Scenario
  readonly #server: ReplayServer
  readonly #scope: TemplateScope
  readonly #loose = new Unifier()
  readonly #watches = new Map<string, WatchStream>()
  readonly #kubectl: Kubectl | undefined
  #strict = true

  constructor(scenario: Scenario, server: ReplayServer, kubectl: string | undefined) {
    this.#scenario = scenario
    this.#server = server
    this.#scope = newScope()
    this.#kubectl = kubectl === undefined ? undefined : new Kubectl(kubectl, server.kubeconfig)
  }

  async run(): Promise<Outcome> {
    const disagreements: Disagreement[] = []
    if (this.#scenario.namespace) await this.#createNamespace()
    for (const [index, step] of this.#scenario.steps.entries()) {
      const failed = (request: string, differences: readonly Difference[]): void => {
        if (differences.length > 0) disagreements.push({ step: index, request, differences })
      }
      this.#scope.steps[index] = {}
      try {
        if (step.kind === 'http') failed(`${step.request.method} ${step.request.path}`, await this.#http(step, index))
        else if (step.kind === 'watch') failed(`watch ${step.request.path}`, await this.#watch(step, index))
        else if (step.kind === 'events') failed(`events of ${step.watch}`, await this.#events(step, index))
        else if (step.kind === 'kubectl') failed(`kubectl ${step.args.join(' ')}`, await this.#runKubectl(step, index))
        else if (step.kind === 'sleep') await delay(Number(step.ms))
        else await this.#server.compact()
      } catch (error) {
        failed(step.kind, [
          {
            path: '',
            expected: undefined,
            actual: undefined,
            why: error instanceof Error ? (error.stack ?? error.message) : String(error),
          },
        ])
        if (step.kind === 'watch') break
      }
    }
    const ranks = this.#loose.rankErrors()
    if (ranks.length > 0)
      disagreements.push({
        step: -1,
        request: 'resourceVersions',
        differences: ranks.map((why) => ({ path: '', expected: undefined, actual: undefined, why })),
      })
    const agrees = disagreements.length === 0
    return {
      name: this.#scenario.name,
      result: agrees ? 'agrees' : 'disagrees',
      strict: agrees && this.#strict,
      disagreements,
    }
  }

  async #createNamespace(): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.#scope.ns } }
    const answer = await this.#send({
      method: 'POST',
      path: '/api/v1/namespaces',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
    if (answer.status !== 201)
      throw new Error(`the namespace of the scenario was not created: ${answer.bytes.toString()}`)
  }

  async #send(request: HttpStep['request']): Promise<ActualResponse> {
    return read(await open(this.#server.target, request, this.#scope))
  }

  async #http(step: HttpStep, index: number): Promise<Difference[]> {
    let actual = await this.#send(step.request)
    const deadline = performance.now() + untilMs
    while (step.until !== undefined && !holds(step.until, actual, this.#scope)) {
      if (performance.now() > deadline) {
        return [
          {
            path: 'until',
            expected: step.until as unknown as JsonValue,
            actual: actual.json ?? actual.bytes.toString().slice(0, 500),
            why: 'never held',
          },
        ]
      }
      await delay(pollMs)
      actual = await this.#send(step.request)
    }
    this.#scope.steps[index] = {
      status: actual.status,
      headers: actual.headers as JsonValue,
      body: actual.json ?? null,
    }
    const expected = fill(step.response as unknown as JsonValue, this.#scope) as unknown as HttpStep['response']
    return this.#compare(step.looseText ?? false, (unifier, loose) => compareResponse(expected, actual, unifier, loose))
  }

  /** Compares as the step says, and beside it strictly where the step is loose. */
  #compare(isLoose: boolean, compare: (unifier: Unifier, loose: boolean) => Difference[]): Difference[] {
    if (isLoose && this.#strict) this.#strict = compare(this.#loose.fork(), false).length === 0
    return compare(this.#loose, isLoose)
  }

  async #watch(step: WatchStep, index: number): Promise<Difference[]> {
    const message = await open(this.#server.target, step.request, this.#scope)
    const expected = fill(step.response as unknown as JsonValue, this.#scope) as unknown as WatchStep['response']
    const streams = message.statusCode === 200 && expected.body === undefined && expected.text === undefined
    if (!streams) {
      const actual = await read(message)
      this.#scope.steps[index] = { status: actual.status, body: actual.json ?? null }
      return this.#compare(step.looseText ?? false, (unifier, loose) =>
        compareResponse(expected, actual, unifier, loose),
      )
    }
    this.#watches.set(step.watch, new WatchStream(message))
    const head: ActualResponse = { status: 200, headers: headersOf(message), bytes: Buffer.alloc(0), json: undefined }
    return this.#compare(step.looseText ?? false, (unifier, loose) => compareResponse(expected, head, unifier, loose))
  }

  async #events(step: EventsStep, index: number): Promise<Difference[]> {
    const stream = this.#watches.get(step.watch)
    if (stream === undefined) throw new Error(`no watch named ${step.watch} is open`)
    const count = step.count === null ? null : Number(step.count)
    const { events, ended } = await stream.take({
      count,
      untilEnd: step.untilEnd,
      keepBookmarks: keepsBookmarks(this.#scenario),
    })
    this.#scope.steps[index] = { events }
    const expected = normalise(fill(step.events as unknown as JsonValue, this.#scope)) as readonly JsonValue[]
    const actual = normalise(events) as readonly JsonValue[]
    return this.#compare(step.looseText ?? false, (unifier, loose) => [
      ...(expected.length === actual.length
        ? []
        : [{ path: 'events.length', expected: expected.length, actual: actual as JsonValue }]),
      ...expected.flatMap((event, place) => {
        if (actual[place] === undefined) return []
        const isError = (event as Record<string, JsonValue>)['type'] === 'ERROR'
        if (!loose || !isError) return unifier.match(event, actual[place], `events[${place}]`)
        const objectOf = (value: JsonValue): JsonValue => (value as Record<string, JsonValue>)['object'] as JsonValue
        return compareBody(objectOf(event), objectOf(actual[place] as JsonValue), unifier, { loose, unordered: false })
      }),
      ...unifier.match(step.ended, ended, 'ended'),
    ])
  }

  async #runKubectl(step: KubectlStep, index: number): Promise<Difference[]> {
    const kubectl = this.#kubectl as Kubectl
    const args = step.args.map((argument) => fillText(argument, this.#scope))
    const stdin = step.stdin === undefined ? undefined : fillText(step.stdin, this.#scope)
    let actual = withoutNoise(await kubectl.run(args, stdin))
    const deadline = performance.now() + untilMs
    while (!kubectlHolds(step.until, actual, this.#scope) && performance.now() < deadline) {
      await delay(pollMs)
      actual = withoutNoise(await kubectl.run(args, stdin))
    }
    this.#scope.steps[index] = { result: { ...actual } }
    const expected = fill(step.result as unknown as JsonValue, this.#scope) as unknown as KubectlStep['result']
    return this.#compare(step.looseText ?? false, (unifier, loose) => [
      ...unifier.match(Number(expected.exitCode), actual.exitCode, 'exitCode'),
      ...(['stdout', 'stderr'] as const).flatMap((stream) => {
        if (loose && expected[stream] !== '')
          return actual[stream] === '' ? [{ path: stream, expected: expected[stream], actual: '' }] : []
        if (!expected.unorderedLines)
          return unifier.match(expected[stream], actual[stream], stream, {
            foldSpaces: expected[stream].includes('<age>'),
          })
        return unifier.match(
          expected[stream].split('\n').sort() as JsonValue,
          actual[stream].split('\n').sort() as JsonValue,
          stream,
          { foldSpaces: true },
        )
      }),
    ])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.#watches.values()) stream.close()
    this.#kubectl?.[Symbol.dispose]()
  }
}
