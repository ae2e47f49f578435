// Scalars whose type follows from what is written: `5` becomes a number where `five` was a string.
import type { Scalar } from 'yaml'
import { isScalar, parseDocument } from 'yaml'
import { yamlDialect } from '@fairlead/kube'

/** Writes a value as text: the type follows from it unless the scalar is quoted. */
export function plainNode(scalar: Scalar, text: string): void {
  const isQuoted = scalar.type === 'QUOTE_DOUBLE' || scalar.type === 'QUOTE_SINGLE'
  if (text === '') scalar.type = 'QUOTE_DOUBLE'
  const typed = isQuoted || text === '' ? undefined : parseDocument(text, yamlDialect).contents
  if (isScalar(typed) && typed.type === 'PLAIN' && typeof typed.value !== 'string' && typed.source === text) {
    scalar.value = typed.value
    scalar.source = text
    scalar.type = 'PLAIN'
    return
  }
  scalar.value = text
  delete scalar.source
  if (!isQuoted && text !== '') {
    // Written plain where YAML allows it, as the text was not quoted.
    scalar.type = 'PLAIN'
    scalar.source = text
  }
}
