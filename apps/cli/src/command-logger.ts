// The logger of `fairlead up` and `fairlead run`: readable lines on a terminal, JSON elsewhere.
import { createLogger } from '@fairlead/controller'
import type { Logger } from '@fairlead/controller'
import { usageError } from '@fairlead/offline/command-error'
import { readableLine } from './readable-log.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

/** Returns the logger, on the level of `FAIRLEAD_LOG_LEVEL`. Throws a usage error for an unknown level. */
export async function commandLogger(fallback: Level): Promise<Logger> {
  return createLogger({
    level: levelOr(fallback),
    ...(process.stderr.isTTY && { write: (line: string) => void process.stderr.write(readableLine(line)) }),
  })
}

function levelOr(fallback: Level): Level {
  const wanted = process.env['FAIRLEAD_LOG_LEVEL'] || fallback
  const level = levels.find((name) => name === wanted)
  if (level === undefined) throw usageError(`FAIRLEAD_LOG_LEVEL=${wanted}: write ${levels.join(', ')}, or leave it out`)
  return level
}
