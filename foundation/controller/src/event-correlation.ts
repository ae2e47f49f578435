// Keeps events few: similar ones are combined, and no object gets more than a trickle of new ones. The numbers are
// client-go's (EventCorrelator).

/** More different notes of one reason than this within {@link similarSpan} are combined. */
const mostSimilar = 10
/** Milliseconds. */
const similarSpan = 600_000
/** New events about one object at once. */
const burst = 25
/** Then one in so many milliseconds. */
const refill = 300_000
/** Objects and reasons remembered; older ones start anew. */
const remembered = 4096

/** What is put before the note of an event that stands for several. */
export const combinedPrefix = '(combined from similar events): '

/** What distinguishes events: who it is about, and what kind of thing happened. */
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

/** Decides on each event by those before it. Times in milliseconds since the epoch. */
export class EventCorrelation {
  readonly #similar = new Map<string, Similar>()
  readonly #buckets = new Map<string, Bucket>()

  /** Whether this note is one too many of its kind: then it counts as the same event as the other ones too many. */
  isCombined({ object, type, reason }: EventTopic, note: string, now: number): boolean {
    const topic = `${object}|${type}|${reason}`
    let similar = this.#similar.get(topic)
    if (similar === undefined || now - similar.last > similarSpan) similar = { notes: new Set(), last: now }
    similar.last = now
    remember(this.#similar, topic, similar)
    if (similar.notes.size < mostSimilar) similar.notes.add(note)
    return !similar.notes.has(note)
  }

  /** Whether a new event about the object may be written; takes its share if so. */
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
