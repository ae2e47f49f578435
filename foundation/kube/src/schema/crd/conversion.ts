// `spec.conversion` of a CRD. Field paths are those of Kubernetes' internal form: webhookClientConfig, conversionReviewVersions.
import { fieldErrors, fieldPath } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import { dns1035Label, dns1123Subdomain } from '../../names.ts'
import type { DefinitionConversion } from './definition.ts'

type ClientConfig = NonNullable<NonNullable<DefinitionConversion['webhook']>['clientConfig']>
type Service = NonNullable<ClientConfig['service']>

const strategies = ['None', 'Webhook']
const reviewVersions = ['v1', 'v1beta1']

/** Errors of `spec.conversion`. CA bundles are not read here. */
export function validateConversion(conversion: DefinitionConversion | undefined, path: string): FieldError[] {
  if (conversion === undefined) return []
  const { strategy = '', webhook } = conversion
  const config = webhook?.clientConfig
  // The typed form has null for an absent list that Go always writes.
  const versions = webhook?.conversionReviewVersions ?? []
  const errors: FieldError[] = []
  if (strategy === '') errors.push(fieldErrors.required(`${path}.strategy`))
  else if (!strategies.includes(strategy))
    errors.push(fieldErrors.notSupported(`${path}.strategy`, strategy, strategies))
  const configPath = `${path}.webhookClientConfig`
  const versionsPath = `${path}.conversionReviewVersions`
  if (strategy === 'Webhook') {
    if (config === undefined) errors.push(fieldErrors.required(configPath, 'required when strategy is set to Webhook'))
    else errors.push(...validateClientConfig(config, configPath))
    return [...errors, ...validateReviewVersions(versions, versionsPath)]
  }
  const detail = 'should not be set when strategy is not set to Webhook'
  if (config !== undefined) errors.push(fieldErrors.forbidden(configPath, detail))
  if (versions.length > 0) errors.push(fieldErrors.forbidden(versionsPath, detail))
  return errors
}

function validateClientConfig(config: ClientConfig, path: string): FieldError[] {
  const { url, service } = config
  if (url !== undefined && service === undefined) return validateWebhookUrl(url, `${path}.url`)
  if (url === undefined && service !== undefined) return validateService(service, `${path}.service`)
  return [fieldErrors.required(path, 'exactly one of url or service is required')]
}

function validateReviewVersions(versions: readonly string[], path: string): FieldError[] {
  if (versions.length === 0) return [fieldErrors.required(path)]
  const errors = versions.flatMap((version, index) => {
    const field = fieldPath(path, index)
    if (versions.indexOf(version) < index) return [fieldErrors.invalid(field, version, 'duplicate version')]
    return dns1035Label(version).map((problem) => fieldErrors.invalid(field, version, problem))
  })
  if (!versions.some((version) => reviewVersions.includes(version))) {
    errors.push(fieldErrors.invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`))
  }
  return errors
}

const urlForm = '; desired format: https://host[/path]'

function validateWebhookUrl(text: string, field: string): FieldError[] {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return [fieldErrors.required(field, `url must be a valid URL: ${text}${urlForm}`)]
  const errors: FieldError[] = []
  const scheme = url.protocol.slice(0, -1)
  if (scheme !== 'https')
    errors.push(fieldErrors.invalid(field, scheme, `'https' is the only allowed URL scheme${urlForm}`))
  if (url.host === '') errors.push(fieldErrors.invalid(field, '', `host must be specified${urlForm}`))
  if (url.username !== '' || url.password !== '') {
    const user = url.password === '' ? url.username : `${url.username}:${url.password}`
    errors.push(fieldErrors.invalid(field, user, 'user information is not permitted in the URL'))
  }
  if (url.hash !== '')
    errors.push(fieldErrors.invalid(field, url.hash.slice(1), 'fragments are not permitted in the URL'))
  if (url.search !== '')
    errors.push(fieldErrors.invalid(field, url.search.slice(1), 'query parameters are not permitted in the URL'))
  return errors
}

function validateService(service: Service, path: string): FieldError[] {
  const { name = '', namespace = '', port = 443 } = service
  const errors: FieldError[] = []
  if (name === '') errors.push(fieldErrors.required(`${path}.name`, 'service name is required'))
  if (namespace === '') errors.push(fieldErrors.required(`${path}.namespace`, 'service namespace is required'))
  if (port < 1 || port > 65535) {
    errors.push(fieldErrors.invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'))
  }
  return [...errors, ...validateServicePath(service.path ?? '', `${path}.path`)]
}

function validateServicePath(path: string, field: string): FieldError[] {
  if (path === '' || path === '/') return []
  const errors = path.startsWith('/') ? [] : [fieldErrors.invalid(field, path, "must start with a '/'")]
  const steps = path.replace(/^\//, '').replace(/\/$/, '').split('/')
  for (const [index, step] of steps.entries()) {
    const problems = step === '' ? ['may not be empty'] : dns1123Subdomain(step).map((problem) => `: ${problem}`)
    for (const problem of problems) {
      errors.push(fieldErrors.invalid(field, path, `segment[${index}]${problem.startsWith(':') ? '' : ' '}${problem}`))
    }
  }
  return errors
}
