// Events (events.k8s.io/v1) about objects. Recording never fails a reconcile and never waits for the server.
import { isNamespaceTerminating, isNotFound, formatMicroTime } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'
import { KubeEvent } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { EventCorrelation, combinedPrefix } from './event-correlation.ts'
import type { Logger } from './logger.ts'

/** The content of an event. */
export interface EventDetails {
  /** `Normal`, or `Warning` for what a user should act on. */
  readonly type: 'Normal' | 'Warning'
  /** CamelCase, at most 128 characters; of low cardinality. */
  readonly reason: string
  /** A sentence for people; cut at 1 KiB. */
  readonly note: string
  /** The action that was taken or tried; the reason when left out. */
  readonly action?: string
  /** A second object that is involved. */
  readonly related?: KubeObject
}

/** Records events about one object. */
export interface ObjectEvents {
  normal(reason: string, note: string, details?: Pick<EventDetails, 'action' | 'related'>): void
  warning(reason: string, note: string, details?: Pick<EventDetails, 'action' | 'related'>): void
}

/** A repeated event within this time increments the count of its series (client-go: 6 minutes). Milliseconds. */
const seriesSpan = 360_000
/** Interval of writes of a series' count, in milliseconds. */
const seriesEvery = 30_000
/** Maximum number of series kept; older ones start again. */
const remembered = 1000
/** The API server refuses longer notes (bytes). */
const longestNote = 1024

interface Series {
  readonly name: string
  readonly namespace: string
  count: number
  written: number
  lastSeen: number
  lastWritten: number
}

/** Writes events in the name of one controller. */
export class EventRecorder {
  readonly #client: Client
  readonly #clock: Clock
  readonly #random: () => number
  readonly #log: Logger
  readonly #controller: string
  readonly #instance: string
  readonly #correlation = new EventCorrelation()
  readonly #series = new Map<string, Series>()
  readonly #pending = new Set<Promise<void>>()

  /** `controller` becomes `reportingController`, `instance` `reportingInstance`. */
  constructor(options: {
    client: Client
    clock: Clock
    random: () => number
    log: Logger
    controller: string
    instance: string
  }) {
    this.#client = options.client
    this.#clock = options.clock
    this.#random = options.random
    this.#log = options.log
    this.#controller = options.controller
    this.#instance = options.instance
  }

  /** Returns a recorder of events about one object. */
  about(object: KubeObject): ObjectEvents {
    return {
      normal: (reason, note, details) => this.record(object, { type: 'Normal', reason, note, ...details }),
      warning: (reason, note, details) => this.record(object, { type: 'Warning', reason, note, ...details }),
    }
  }

  /**
   * Records one event. A repetition within six minutes increments the count of its series; many events that differ in
   * their note only are aggregated; an object with many new events gets one more every five minutes.
   */
  record(object: KubeObject, details: EventDetails): void {
    const now = this.#clock.now()
    const { uid, namespace, name } = object.metadata
    const about = [uid, object.kind, namespace, name].join('|')
    const combined = this.#correlation.isCombined({ object: about, ...details }, details.note, now)
    const note = cut(combined ? combinedPrefix + details.note : details.note)
    const id = [about, details.type, details.reason, combined ? combinedPrefix : note].join('|')
    const series = this.#series.get(id)
    if (series !== undefined && now - series.lastSeen < seriesSpan) return this.#again(series, now)
    if (!this.#correlation.mayCreate(about, now)) return
    this.#remember(id, {
      name: this.#nameFor(object, now),
      namespace: object.metadata.namespace || 'default',
      count: 1,
      written: 1,
      lastSeen: now,
      lastWritten: now,
    })
    this.#write(this.#client.create(this.#eventFor(object, details, note, this.#series.get(id)!, now)))
  }

  /** Resolves when all events recorded so far were written or dropped. */
  async flush(): Promise<void> {
    for (const series of this.#series.values()) if (series.count > series.written) this.#writeSeries(series)
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  #again(series: Series, now: number): void {
    series.count++
    series.lastSeen = now
    if (series.count === 2 || now - series.lastWritten >= seriesEvery) this.#writeSeries(series)
  }

  #writeSeries(series: Series): void {
    series.written = series.count
    series.lastWritten = this.#clock.now()
    const merge = { series: { count: series.count, lastObservedTime: formatMicroTime(series.lastSeen) } }
    this.#write(this.#client.patch(KubeEvent, { namespace: series.namespace, name: series.name }, { merge }))
  }

  #remember(id: string, series: Series): void {
    this.#series.delete(id)
    this.#series.set(id, series)
    const oldest = this.#series.keys().next().value
    if (this.#series.size > remembered && oldest !== undefined) this.#series.delete(oldest)
  }

  #write(writing: Promise<unknown>): void {
    const finished: Promise<void> = writing
      .then(() => {})
      .catch((error: unknown) => {
        // Events in terminating namespaces, and series that expired, are dropped.
        if (!isNotFound(error) && !isNamespaceTerminating(error)) this.#log.warn('Could not record an event', { error })
      })
      .finally(() => this.#pending.delete(finished))
    this.#pending.add(finished)
  }

  #nameFor(object: KubeObject, now: number): string {
    const suffix = Math.floor(now * 1e6 + this.#random() * 1e6).toString(16)
    return `${(object.metadata.name ?? 'object').slice(0, 200)}.${suffix}`
  }

  #eventFor(object: KubeObject, details: EventDetails, note: string, series: Series, now: number): KubeEvent {
    return {
      apiVersion: KubeEvent.apiVersion,
      kind: KubeEvent.kind,
      metadata: { name: series.name, namespace: series.namespace },
      eventTime: formatMicroTime(now),
      type: details.type,
      reason: details.reason,
      action: details.action ?? details.reason,
      note,
      reportingController: this.#controller,
      reportingInstance: this.#instance.slice(0, 128),
      regarding: referenceTo(object),
      ...(details.related === undefined ? {} : { related: referenceTo(details.related) }),
    }
  }
}

function referenceTo(object: KubeObject): Record<string, string> {
  const { namespace, name, uid, resourceVersion } = object.metadata
  const reference = { apiVersion: object.apiVersion, kind: object.kind, namespace, name, uid, resourceVersion }
  return Object.fromEntries(Object.entries(reference).filter((entry): entry is [string, string] => !!entry[1]))
}

function cut(note: string): string {
  const bytes = Buffer.from(note)
  return bytes.length <= longestNote
    ? note
    : new TextDecoder().decode(bytes.subarray(0, longestNote - 4)).replace(/\uFFFD+$/, '') + '…'
}
