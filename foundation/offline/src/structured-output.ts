// The formats of values for programs: `-o json` and `-o yaml`, as kubectl prints them.
import { stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'

/** Formats of values for programs. */
export type StructuredFormat = 'json' | 'yaml'

/** Returns a value in a format: JSON is indented by four blanks. */
export function formatStructured(value: JsonValue | object, format: StructuredFormat): string {
  return format === 'yaml' ? stringifyYaml(value) : indented(stringifyJson(value as JsonValue), 4)
}

/** Indents compact JSON, whose numbers may be larger than those of JavaScript. */
function indented(json: string, width: number): string {
  let depth = 0
  const line = (): string => `\n${' '.repeat(depth * width)}`
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g, (token) => {
    switch (token) {
      case '{':
      case '[':
        depth++
        return `${token}${line()}`
      case '}':
      case ']':
        depth--
        return `${line()}${token}`
      case ',':
        return `,${line()}`
      case ':':
        return ': '
      default:
        return token
    }
  })
}
