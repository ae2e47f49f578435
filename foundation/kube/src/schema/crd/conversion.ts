// `spec.conversion` of a CRD. Field paths are those of Kubernetes' internal form: webhookClientConfig,
// conversionReviewVersions.
import { fieldErrors, fieldPath } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import { dns1035Label } from '../../names.ts'
import { webhookServiceErrors, webhookUrlErrors } from '../../webhook-client-config.ts'
import type { DefinitionConversion } from './definition.ts'

type ClientConfig = NonNullable<NonNullable<DefinitionConversion['webhook']>['clientConfig']>

const strategies = ['None', 'Webhook']
const reviewVersions = ['v1', 'v1beta1']

/** Validates `spec.conversion`. CA bundles are not parsed here. */
export function validateConversion(conversion: DefinitionConversion | undefined, path: string): FieldError[] {
  if (conversion === undefined) return []
  const { strategy = '', webhook } = conversion
  const config = webhook?.clientConfig
  // The Go type has null for an absent list, which it always writes.
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
  if (url !== undefined && service === undefined) return webhookUrlErrors(`${path}.url`, url)
  if (url === undefined && service !== undefined) return webhookServiceErrors(`${path}.service`, service)
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
