// Limits events: similar ones are aggregated, and new ones are rate limited per object. The numbers are client-go's
// (EventCorrelator).

/** More different notes of one reason than this within {@link similarSpan} are aggregated. */
const mostSimilar = 10
/** Milliseconds. */
const similarSpan = 600_000
/** Burst of new events about one object. */
const burst = 25
/** Interval of further events, milliseconds. */
const refill = 300_000
/** Maximum number of objects and reasons kept; older ones start again. */
const remembered = 4096

/** Prefix of the note of an aggregated event. */
export const combinedPrefix = '(combined from similar events): '

/** The fields that distinguish events: the object, and the kind of occurrence. */
export interface EventTopic {
  readonly object: string
  readonly type: string
  readonly reason: string
}

interface Similar {
  readonly notes: Set<string>
  last: number
}

interface Bucket {
  tokens: number
  filled: number
}

/** Aggregates and rate limits events. Times in milliseconds since the epoch. */
export class EventCorrelation {
  readonly #similar = new Map<string, Similar>()
  readonly #buckets = new Map<string, Bucket>()

  /** Reports whether this note exceeds the limit of its kind: it is aggregated then. */
  isCombined({ object, type, reason }: EventTopic, note: string, now: number): boolean {
    const topic = `${object}|${type}|${reason}`
    let similar = this.#similar.get(topic)
    if (similar === undefined || now - similar.last > similarSpan) similar = { notes: new Set(), last: now }
    similar.last = now
    remember(this.#similar, topic, similar)
    if (similar.notes.size < mostSimilar) similar.notes.add(note)
    return !similar.notes.has(note)
  }

  /** Reports whether a new event about the object may be written, and counts it. */
  mayCreate(object: string, now: number): boolean {
    const bucket = this.#buckets.get(object) ?? { tokens: burst, filled: now }
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.filled) / refill)
    bucket.filled = now
    remember(this.#buckets, object, bucket)
    if (bucket.tokens < 1) return false
    bucket.tokens--
    return true
  }
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > remembered && oldest !== undefined) map.delete(oldest)
}
