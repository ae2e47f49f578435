// Tests of health rules as data: `health_test.yaml` holds a rule, or names the template that has it, and objects with the health they must have.
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { asObject, isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { ClusterHealthRule, HealthRule, Template, TemplateKind, TemplateSpec } from '../api.ts'
import { healthOf, ruleOf } from '../engine/health/health.ts'
import { DocumentError, readFile, readValues } from './documents.ts'
import type { TestOutcome } from './cartotest.ts'

const fileName = 'health_test.yaml'

/** Runs every `health_test.yaml` below a folder. `now` is the time, in milliseconds, unless a case names one. */
export function runHealthTests(folder: string, now: number): TestOutcome[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => basename(name) === fileName)
    .toSorted()
    .flatMap((name) => runFile(join(folder, name), name, now))
}

function runFile(path: string, name: string, now: number): TestOutcome[] {
  const [document] = readValues(path)
  if (!isJsonObject(document) || !Array.isArray(document['cases']))
    throw new DocumentError(`${path}: a health test has template or healthRule, and cases`)
  const spec = specOf(document, path)
  const defaults = ((document['defaults'] ?? []) as readonly JsonObject[]).map(
    (rule) => asObject(rule) as ClusterHealthRule,
  )
  return (document['cases'] as readonly JsonObject[]).map((entry, index) => {
    const { spelling, rule } = ruleOf(spec.spec)
    const object = isJsonObject(entry['object']) ? asObject({ metadata: {}, ...entry['object'] }) : undefined
    const outputs = (entry['outputs'] ?? []) as readonly string[]
    const time = typeof entry['now'] === 'string' ? Date.parse(entry['now']) : now
    const came = healthOf({
      spelling,
      rule,
      templateKind: spec.kind,
      object,
      realized: { stamped: object !== undefined, outputs },
      defaults,
      now: time,
    })
    const wanted = Object.entries((entry['expect'] ?? {}) as JsonObject)
    const wrong = wanted.filter(([key, value]) => came[key as keyof typeof came] !== value)
    const title = `${name}: ${typeof entry['name'] === 'string' ? entry['name'] : `case ${index + 1}`}`
    if (wrong.length === 0 && wanted.length > 0) return { name: title, outcome: 'passed' }
    const problem =
      wanted.length === 0
        ? 'it expects nothing'
        : wrong
            .map(
              ([key, value]) =>
                `${key}: expected ${JSON.stringify(value)}, is ${JSON.stringify(came[key as keyof typeof came])}`,
            )
            .join('\n')
    return { name: title, outcome: 'failed', problem }
  })
}

function specOf(document: JsonObject, path: string): { readonly kind: TemplateKind; readonly spec: TemplateSpec } {
  if (typeof document['template'] === 'string') {
    const [template] = readFile(join(dirname(path), document['template'])) as Template[]
    if (template === undefined) throw new DocumentError(`${path}: ${document['template']} holds no template`)
    return template
  }
  const { healthRule, healthyConditionRule } = document as {
    healthRule?: HealthRule
    healthyConditionRule?: HealthRule
  }
  return { kind: 'ClusterTemplate', spec: { healthRule, healthyConditionRule } }
}
