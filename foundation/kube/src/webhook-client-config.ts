// The client configuration of admission and conversion webhooks (apiserver's validation of webhooks, v1.35).
import { fieldErrors } from './field-error.ts'
import type { FieldError } from './field-error.ts'
import { parseGoUrl } from './go-url.ts'
import { dns1123Subdomain } from './names.ts'

const desiredForm = '; desired format: https://host[/path]'

/** Errors of a webhook's `url`: it must be an https URL with only a host and a path. */
export function webhookUrlErrors(field: string, text: string): FieldError[] {
  const url = parseGoUrl(text)
  if (typeof url === 'string') return [fieldErrors.required(field, `url must be a valid URL: ${url}${desiredForm}`)]
  const errors: FieldError[] = []
  if (url.scheme !== 'https')
    errors.push(fieldErrors.invalid(field, url.scheme, `'https' is the only allowed URL scheme${desiredForm}`))
  if (url.host === '') errors.push(fieldErrors.invalid(field, '', `host must be specified${desiredForm}`))
  if (url.user !== undefined)
    errors.push(fieldErrors.invalid(field, url.user, 'user information is not permitted in the URL'))
  if (url.fragment !== '')
    errors.push(fieldErrors.invalid(field, url.fragment, 'fragments are not permitted in the URL'))
  if (url.query !== '')
    errors.push(fieldErrors.invalid(field, url.query, 'query parameters are not permitted in the URL'))
  return errors
}

/** A webhook's `service`. */
export interface WebhookService {
  readonly name?: string
  readonly namespace?: string
  readonly path?: string
  readonly port?: number
}

/** Errors of a webhook's `service`. */
export function webhookServiceErrors(path: string, service: WebhookService): FieldError[] {
  const { name = '', namespace = '', port = 443 } = service
  const errors: FieldError[] = []
  // Kubernetes swaps the two: a missing name is reported at the namespace and vice versa.
  if (namespace === '') errors.push(fieldErrors.required(`${path}.name`))
  if (name === '') errors.push(fieldErrors.required(`${path}.namespace`))
  if (port < 1 || port > 65535)
    errors.push(fieldErrors.invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'))
  return [...errors, ...servicePathErrors(`${path}.path`, service.path ?? '')]
}

function servicePathErrors(field: string, path: string): FieldError[] {
  if (path === '' || path === '/') return []
  const invalid = (detail: string): FieldError => fieldErrors.invalid(field, path, detail)
  if (path === '//') return [invalid('segment[0] may not be empty')]
  const errors = path.startsWith('/') ? [] : [invalid("must start with a '/'")]
  // The first character is skipped as the slash, even when it is another one.
  const steps = path.slice(1).replace(/\/$/, '').split('/')
  for (const [index, step] of steps.entries()) {
    if (step === '') errors.push(invalid(`segment[${index}] may not be empty`))
    else for (const problem of dns1123Subdomain(step)) errors.push(invalid(`segment[${index}]: ${problem}`))
  }
  return errors
}
