// The routes of health, readiness and version, and of health as a metric.
import { methodNotAllowed } from '@fairlead/kube'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import { textResponse, valueResponse } from '../response/response.ts'
import type { Route } from '../http/route.ts'

/** One check behind `/readyz`; returns undefined when healthy, else the problem. */
export interface HealthCheck {
  readonly name: string
  readonly check: () => string | undefined
}

const roots: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz'])

/** Serves `/healthz`, `/livez` and `/readyz`, all checks or one, with `?verbose` and `?exclude=`. */
export function healthRoute(checks: readonly HealthCheck[]): Route {
  return {
    rootPaths: () => [...roots].flatMap((root) => [`/${root}`, ...checks.map(({ name }) => `/${root}/${name}`)]),
    handle(request, [root, name, ...rest]) {
      if (root === undefined || !roots.has(root) || rest.length > 0 || request.path.endsWith('/')) return undefined
      if (name !== undefined) {
        const check = checks.find((candidate) => candidate.name === name)
        if (check === undefined) return undefined
        const problem = check.check()
        return problem === undefined ? checkPassed() : textResponse(500, `internal server error: ${problem}\n`)
      }
      return answerChecks(request, root, checks)
    },
  }
}

/** Serves `/metrics/slis`: the results of the checks as a metric, for users who may GET that path. */
export function healthMetricsRoute(checks: readonly HealthCheck[]): Route {
  return {
    rootPaths: () => ['/metrics/slis'],
    handle(request, segments) {
      if (segments.join('/') !== 'metrics/slis') return undefined
      if (request.method !== 'GET') throw methodNotAllowed()
      const { headers, ...rest } = textResponse(200, healthMetrics(checks))
      return { ...rest, headers: { ...headers, 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } }
    },
  }
}

const metric = 'kubernetes_healthcheck'

function healthMetrics(checks: readonly HealthCheck[]): string {
  const results = checks.map(({ name, check }) => ({ name, value: check() === undefined ? 1 : 0 }))
  const lines = results.flatMap(({ name, value }) =>
    [...roots].map((type) => `${metric}{name="${name}",type="${type}"} ${value}\n`),
  )
  const help = 'This metric records the result of a single healthcheck.'
  return `# HELP ${metric} [STABLE] ${help}\n# TYPE ${metric} gauge\n${lines.join('')}`
}

/** Returns the response for a single check, which lacks the header `x-content-type-options` like the real server's. */
function checkPassed(): ServerResponse {
  const { headers, ...rest } = textResponse(200, 'ok')
  const { 'x-content-type-options': _sniffing, ...kept } = headers
  return { ...rest, headers: kept }
}

/** Serves `/version`. */
export function versionRoute(version: Readonly<Record<string, string>>): Route {
  return {
    rootPaths: () => ['/version'],
    handle(request, segments) {
      if (segments.length !== 1 || segments[0] !== 'version') return undefined
      if (request.method !== 'GET') throw methodNotAllowed()
      return valueResponse(200, version, { encoding: 'json', pretty: true, encodeProtobuf: undefined })
    },
  }
}

function answerChecks(request: ServerRequest, root: string, checks: readonly HealthCheck[]): ServerResponse {
  const excluded = new Set(request.query.getAll('exclude'))
  const lines: string[] = []
  let failed = false
  for (const { name, check } of checks) {
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok`)
      continue
    }
    const problem = check()
    if (problem !== undefined) failed = true
    lines.push(problem === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`)
  }
  if (failed) return textResponse(500, `${lines.join('\n')}\n${root} check failed\n`)
  return request.query.has('verbose')
    ? textResponse(200, `${lines.join('\n')}\n${root} check passed\n`)
    : textResponse(200, 'ok')
}
