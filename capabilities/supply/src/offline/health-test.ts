// Tests of health rules as data: `health_test.yaml` contains a rule, or the name of the template file that has it, and
// objects with the health that is expected.
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { asObject, isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { ManifestError, manifestsOf, readDocuments } from '@fairlead/offline'
import type { Document } from '@fairlead/offline'
import type { ClusterHealthRule, HealthRule, Template, TemplateKind, TemplateSpec } from '../api.ts'
import { healthOf, ruleOf } from '../engine/health/health.ts'
import type { TestOutcome } from './test-outcome.ts'

const fileName = 'health_test.yaml'

/**
 * Runs every `health_test.yaml` below a folder. `now` is the time of cases without one, in milliseconds since the
 * epoch. Throws ManifestError.
 */
export function runHealthTests(folder: string, now: number): TestOutcome[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => basename(name) === fileName)
    .toSorted()
    .flatMap((name) => runFile(join(folder, name), name, now))
}

function runFile(path: string, name: string, now: number): TestOutcome[] {
  const [document] = readDocuments(path)
  const cases = isJsonObject(document?.value) ? document.value['cases'] : undefined
  if (document === undefined || !isJsonArray(cases ?? null))
    throw new ManifestError(path, document?.line ?? 0, 'a health test has template or healthRule, and cases')
  const test = document.value as JsonObject
  const subject = subjectOf(test, document)
  const defaults = ((test['defaults'] ?? []) as readonly JsonObject[]).map(
    (rule) => asObject(rule) as ClusterHealthRule,
  )
  return (cases as readonly JsonObject[]).map((entry, index) => {
    const title = `${name}: ${typeof entry['name'] === 'string' ? entry['name'] : `case ${index + 1}`}`
    const { spelling, rule } = ruleOf(subject.spec)
    const object = isJsonObject(entry['object']) ? asObject({ metadata: {}, ...entry['object'] }) : undefined
    const actual = healthOf({
      spelling,
      rule,
      templateKind: subject.kind,
      object,
      realized: { stamped: object !== undefined, outputs: (entry['outputs'] ?? []) as readonly string[] },
      defaults,
      now: typeof entry['now'] === 'string' ? Date.parse(entry['now']) : now,
    })
    const problem = difference((entry['expect'] ?? {}) as JsonObject, { ...actual })
    return problem === undefined ? { name: title, outcome: 'passed' } : { name: title, outcome: 'failed', problem }
  })
}

/** Compares the fields that the case names; undefined when all are equal. */
function difference(expected: JsonObject, actual: Readonly<Record<string, JsonValue>>): string | undefined {
  const fields = Object.entries(expected)
  if (fields.length === 0) return 'the case expects nothing'
  const wrong = fields.filter(([key, value]) => actual[key] !== value)
  if (wrong.length === 0) return undefined
  return wrong
    .map(([key, value]) => `${key}: expected ${JSON.stringify(value)}, is ${JSON.stringify(actual[key])}`)
    .join('\n')
}

/** Returns the template that the test names, or a ClusterTemplate with the rule that it contains. */
function subjectOf(
  test: JsonObject,
  { file, line }: Document,
): { readonly kind: TemplateKind; readonly spec: TemplateSpec } {
  if (typeof test['template'] === 'string') {
    const [template] = manifestsOf(readDocuments(join(dirname(file), test['template'])))
    if (template === undefined) throw new ManifestError(file, line, `${test['template']} contains no template`)
    return template.object as Template
  }
  const { healthRule, healthyConditionRule } = test as { healthRule?: HealthRule; healthyConditionRule?: HealthRule }
  return { kind: 'ClusterTemplate', spec: { healthRule, healthyConditionRule } }
}
