// The placeholders of the messages on docs/reference/errors.md.
import { expect, test } from 'vitest'
import { withPlaceholders } from '../../scripts/reference/message-template.ts'

test.each([
  ['of ${error.name}', 'of {name}'],
  ['the newest is ${this.#visible}.', 'the newest is {visible}.'],
  ['spec.hooks.${this.hook}.expression', 'spec.hooks.{hook}.expression'],
  ['for field ${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}', 'for field {field}'],
  ['${JSON.stringify(kind)} in ${version}', '{kind} in {version}'],
])('a template %j is shown as %j', (source, shown) => {
  expect(withPlaceholders(source)).toBe(shown)
})
