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
 * Writes one JSON object per line: `level`, `time` (RFC 3339), fields, `msg`. Errors in the fields `error` and `err`
 * become name, code, message, stack and cause. Its methods never throw, whatever the fields are.
 */
export async function createLogger(options: LoggerOptions = {}): Promise<Logger> {
  const { pino, stdTimeFunctions } = await import('pino')
  const settings = {
    level: options.level ?? 'info',
    base: { ...options.fields },
    timestamp: stdTimeFunctions.isoTime,
    serializers: { error: serializeError, err: serializeError },
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const write = options.write ?? writeToStandardError
  return guardedLogger(wrap(pino(settings, { write: (line: string) => write(line) })))
}

let isListening = false

/** Writes a line; a full disk or a closed pipe loses it. pino's own stream never ends the process after ENOSPC. */
function writeToStandardError(line: string): void {
  if (!isListening) process.stderr.on('error', () => {})
  isListening = true
  process.stderr.write(line)
}

/** Depth to which causes and aggregated errors are followed: they may be circular. */
const deepestCause = 5

/**
 * Copies what a log line shows of an error. pino's own serializer writes into the properties of errors, which fails
 * where they are frozen, as the `status` of a StatusError is.
 */
function serializeError(error: unknown, depth: number = 0): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, stack, cause } = error
  const { code, errors } = error as { code?: unknown; errors?: unknown }
  const isShown = depth < deepestCause
  return {
    name,
    message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack,
    ...(isShown && cause !== undefined ? { cause: serializeError(cause, depth + 1) } : {}),
    ...(isShown && Array.isArray(errors) ? { errors: errors.map((one) => serializeError(one, depth + 1)) } : {}),
  }
}

const guarded = new WeakSet<Logger>()

/**
 * Returns a logger whose methods never throw. When a line cannot be written with its fields, it is written without
 * them; when that fails as well, it is lost: logging never ends a reconcile or a process.
 */
export function guardedLogger(logger: Logger): Logger {
  if (guarded.has(logger)) return logger
  const at =
    (level: Level) =>
    (message: string, fields?: LogFields): void => {
      try {
        logger[level](message, fields)
      } catch (problem) {
        try {
          logger[level](message, { loggingFailed: String(problem) })
        } catch {}
      }
    }
  const made: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => {
      try {
        return guardedLogger(logger.child(fields))
      } catch {
        return made
      }
    },
  }
  guarded.add(made)
  return made
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
