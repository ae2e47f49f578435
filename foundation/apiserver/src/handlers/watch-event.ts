// Events of stored objects, and their JSON lines, which the watchers of one resource share.
import { asJson, stringifyJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ServedEvent } from '../http/message.ts'
import type { View } from '../views/views.ts'

const encoder = new TextEncoder()
const newline = encoder.encode('}\n')

/** An event of a stored object, and its JSON line. */
export class ViewEvent implements ServedEvent {
  readonly type: ServedEvent['type']
  readonly initial: boolean
  readonly #view: View
  #line: Uint8Array | undefined

  constructor(type: ServedEvent['type'], view: View, initial: boolean) {
    this.type = type
    this.initial = initial
    this.#view = view
  }

  get object(): KubeObject {
    return this.#view.object
  }

  get bytes(): Uint8Array {
    return this.#view.bytes
  }

  get line(): Uint8Array {
    return (this.#line ??= lineOf(this.type, this.bytes))
  }
}

type RecentEvents = Map<ServedEvent['type'], Map<View, ViewEvent>>

/**
 * Recent events by resource: its watchers receive the same changes shortly after each other. The oldest are evicted
 * first.
 */
const recentEvents = new WeakMap<View['resource'], RecentEvents>()
const recentLimit = 1000

export function sharedEvent(type: ServedEvent['type'], view: View): ViewEvent {
  let types = recentEvents.get(view.resource)
  if (types === undefined) recentEvents.set(view.resource, (types = new Map()))
  let events = types.get(type)
  if (events === undefined) types.set(type, (events = new Map<View, ViewEvent>()))
  let event = events.get(view)
  if (event === undefined) {
    if (events.size >= recentLimit) events.delete(events.keys().next().value!)
    events.set(view, (event = new ViewEvent(type, view, false)))
  }
  return event
}

/** Encodes one line of a watch in JSON. Watchers of one object share the line. */
export function encodeJsonEvent(event: ServedEvent): Uint8Array {
  if (event instanceof ViewEvent) return event.line
  return lineOf(event.type, event.bytes ?? encoder.encode(stringifyJson(asJson(event.object))))
}

function lineOf(type: ServedEvent['type'], object: Uint8Array): Uint8Array {
  const head = encoder.encode(`{"type":"${type}","object":`)
  const line = new Uint8Array(head.length + object.length + newline.length)
  line.set(head)
  line.set(object, head.length)
  line.set(newline, head.length + object.length)
  return line
}
