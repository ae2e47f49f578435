// Logging behind a small interface; pino implements it and is loaded when the first logger is created.

/** Key-value pairs of a log line. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Messages start with a capital, are in the past tense, name the kind, and have no full stop; values go into fields.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Returns a logger that adds fields to each line. */
  child(fields: LogFields): Logger
}

/** A logger that discards everything. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLogger }

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** The destination; standard error when left out. */
  readonly write?: (line: string) => void
  readonly fields?: LogFields
}

/**
 * Writes one JSON object per line: `level`, `time` (RFC 3339), fields, `msg`. Errors in the field `error` become name,
 * code, message and stack.
 */
export async function createLogger(options: LoggerOptions = {}): Promise<Logger> {
  const { pino, stdTimeFunctions, stdSerializers, destination } = await import('pino')
  const settings = {
    level: options.level ?? 'info',
    base: { ...options.fields },
    timestamp: stdTimeFunctions.isoTime,
    serializers: { error: stdSerializers.err },
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const write = options.write
  return wrap(
    write === undefined ? pino(settings, destination(2)) : pino(settings, { write: (line: string) => write(line) }),
  )
}

type Level = 'debug' | 'info' | 'warn' | 'error'
type Pino = { [level in Level]: (fields: object, message: string) => void } & { child(fields: object): Pino }

function wrap(to: Pino): Logger {
  const at =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void =>
      to[level](fields, message)
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(to.child(fields)),
  }
}
