// Validates the fields of actions and of input forms: values, and names that are nearly right.
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { Problem, ProblemCode } from './data/problem.ts'
import type { Action } from './maps/action-map.ts'
import { imageReference } from './runs/image.ts'

const actionFields = [
  'name',
  'text',
  'text.nls',
  'description',
  'description.nls',
  'menu-item',
  'requires-input',
  'enablement-label',
  'enablement-annotation',
  'enablement-expression',
] as const
const fieldsOf = {
  'url-actions': [...actionFields, 'url-pattern', 'open-window'],
  'cmd-actions': [...actionFields, 'cmd-pattern', 'image'],
} as const
const inputFields = ['label', 'description', 'type', 'values', 'default', 'optional', 'validator'] as const
const inputTypes = ['string', 'select', 'multiselect']
const windows = ['current', 'tab', 'new']

/** Returns the problems of the fields of an action. */
export function actionFieldProblems({ name, type, fields }: Action): readonly Problem[] {
  const at = `data.${type}[${name}]`
  const problems = misspelt(at, fields, fieldsOf[type])
  const add = (code: ProblemCode, key: string, message: string): void =>
    void problems.push({ code, field: `${at}.${key}`, message })
  const image = ownValue(fields, 'image')
  if (type === 'cmd-actions' && typeof image === 'string' && !imageReference.test(image))
    add('InvalidAction', 'image', `${JSON.stringify(image)} is not an image reference`)
  const window = ownValue(fields, 'open-window')
  if (window !== undefined && !windows.includes(String(window)))
    add('InvalidAction', 'open-window', `must be one of ${windows.join(', ')}, not ${JSON.stringify(window)}`)
  return problems
}

/** Returns the problems of the fields of an input form. */
export function formFieldProblems(field: string, form: JsonValue): readonly Problem[] {
  const fields = isJsonObject(form) ? ownValue(form, 'fields') : undefined
  if (!isJsonObject(fields)) return []
  return Object.entries(fields).flatMap(([name, attributes]): readonly Problem[] => {
    const at = `${field}.fields.${name}`
    if (!isJsonObject(attributes))
      return [{ code: 'InvalidMap', field: at, message: 'must be an object with label, type, …' }]
    const problems = misspelt(at, attributes, inputFields)
    const type = ownValue(attributes, 'type')
    if (type !== undefined && !inputTypes.includes(String(type)))
      problems.push({
        code: 'InvalidMap',
        field: `${at}.type`,
        message: `must be one of ${inputTypes.join(', ')}, not ${JSON.stringify(type)}`,
      })
    const values = ownValue(attributes, 'values')
    if (values !== undefined && !isJsonArray(values))
      problems.push({ code: 'InvalidMap', field: `${at}.values`, message: 'must be a list [ … ]; it is ignored' })
    return problems
  })
}

/** Returns a problem for each key that is unknown and nearly a known one; others may be for other programs. */
function misspelt(at: string, object: JsonObject, known: readonly string[]): Problem[] {
  return Object.keys(object).flatMap((key): Problem[] => {
    if (known.includes(key)) return []
    const meant = known.find((one) => isNear(key, one))
    return meant === undefined
      ? []
      : [{ code: 'UnknownField', field: `${at}.${key}`, message: `unknown field; did you mean ${meant}?` }]
  })
}

/** Longest key that is compared: the comparison takes time in proportion to both lengths. */
const maxCompared = 40

/** Reports whether two words differ by at most two insertions, deletions or replacements. */
function isNear(word: string, other: string): boolean {
  if (Math.abs(word.length - other.length) > 2 || word.length > maxCompared || word.length < 4) return false
  let previous = Array.from({ length: other.length + 1 }, (_value, index) => index)
  for (const [row, char] of [...word].entries()) {
    const current = [row + 1]
    for (let column = 0; column < other.length; column++)
      current.push(
        Math.min(previous[column + 1]! + 1, current[column]! + 1, previous[column]! + (char === other[column] ? 0 : 1)),
      )
    previous = current
  }
  return previous.at(-1)! <= 2
}
