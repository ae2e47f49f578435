// Kubernetes' authorizer library: access checks in expressions of admission. The server supplies the authorizer; this
// file builds the checks.
import { dns1123Label, dns1123Subdomain } from '../../names.ts'
import { CelError } from '../errors.ts'
import type { CallCost } from '../call-cost.ts'
import { Library } from '../library.ts'
import type { CelType } from '../types.ts'
import { objectOf, opaque } from '../types.ts'
import { MapValue, OpaqueValue } from '../values.ts'

/** The attributes of an access check. Resource checks have `resource`, others `path`. */
export interface AccessAttributes {
  readonly verb: string
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  /** The user of the request by default. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
}

/** The decision of an access check; `error` when it failed. */
export interface AccessDecision {
  readonly allowed: boolean
  readonly reason: string
  readonly error?: string
}

/** Authorizes the access checks of one request. */
export type AccessCheck = (attributes: AccessAttributes) => AccessDecision

type Partial = Omit<AccessAttributes, 'verb'>

const prefix = 'kubernetes.authorization'
const authorizer = `${prefix}.Authorizer`
const pathCheck = `${prefix}.PathCheck`
const groupCheck = `${prefix}.GroupCheck`
const resourceCheck = `${prefix}.ResourceCheck`
const decision = `${prefix}.Decision`

/** The type of the variable `authorizer`; its field `requestResource` is the resource of the request. */
export const authorizerType: CelType = objectOf(authorizer, new Map([['requestResource', opaque(resourceCheck)]]))

/** A check costs a third of the budget of one expression (Kubernetes' figure). */
const checking: CallCost = () => 350_000

class Authorizer extends MapValue {
  readonly check: AccessCheck
  readonly serviceAccount: AccessAttributes['serviceAccount']

  constructor(check: AccessCheck, serviceAccount?: AccessAttributes['serviceAccount']) {
    super()
    this.check = check
    this.serviceAccount = serviceAccount
  }

  makeCheck(type: string, attributes: Partial): Check {
    return makeCheck(this.check, type, {
      ...attributes,
      ...(this.serviceAccount === undefined ? {} : { serviceAccount: this.serviceAccount }),
    })
  }
}

type Check = OpaqueValue<{ readonly check: AccessCheck; readonly attributes: Partial }>

function makeCheck(check: AccessCheck, type: string, attributes: Partial): Check {
  return new OpaqueValue(type, { check, attributes }, JSON.stringify(attributes))
}

/** Creates the value of the variable `authorizer`; `requestResource` is the resource of the request. */
export function authorizerValue(check: AccessCheck, requestResource: Partial): MapValue {
  const value = new Authorizer(check)
  value.set('requestResource', value.makeCheck(resourceCheck, requestResource))
  return value
}

/** `authorizer.group('apps').resource('deployments').namespace('x').check('create').allowed()` and the like. */
export function authorizationLibrary(): Library {
  const library = new Library()
  const narrow = ({ type, value }: Check, more: Partial): Check =>
    makeCheck(value.check, type, { ...value.attributes, ...more })
  const authorize = ({ value }: Check, verb: string): OpaqueValue<AccessDecision> => {
    const result = value.check({ ...value.attributes, verb })
    return new OpaqueValue(decision, result, JSON.stringify(result))
  }
  library
    .define(`${authorizer}.path(string): ${pathCheck}`, (value: Authorizer, path: string) =>
      value.makeCheck(pathCheck, { path }),
    )
    .define(`${authorizer}.group(string): ${groupCheck}`, (value: Authorizer, group: string) =>
      value.makeCheck(groupCheck, { group }),
    )
    .define(
      `${authorizer}.serviceAccount(string, string): ${authorizer}`,
      (value: Authorizer, namespace: string, name: string) => {
        if (dns1123Subdomain(name).length > 0) throw new CelError('Invalid service account name')
        if (dns1123Label(namespace).length > 0) throw new CelError('Invalid service account namespace')
        return new Authorizer(value.check, { namespace, name })
      },
    )
    .define(`${groupCheck}.resource(string): ${resourceCheck}`, ({ value }: Check, resource: string) =>
      makeCheck(value.check, resourceCheck, { ...value.attributes, resource }),
    )
    .define(`${pathCheck}.check(string): ${decision}`, authorize, checking)
    .define(`${resourceCheck}.check(string): ${decision}`, authorize, checking)
    .define(`${decision}.allowed(): bool`, ({ value }: OpaqueValue<AccessDecision>) => value.allowed)
    .define(`${decision}.reason(): string`, ({ value }: OpaqueValue<AccessDecision>) => value.reason)
    .define(`${decision}.errored(): bool`, ({ value }: OpaqueValue<AccessDecision>) => value.error !== undefined)
    .define(`${decision}.error(): string`, ({ value }: OpaqueValue<AccessDecision>) => value.error ?? '')
  // No authorizer here supports selectors: they do not restrict the check.
  for (const selector of ['fieldSelector', 'labelSelector'])
    library.define(`${resourceCheck}.${selector}(string): ${resourceCheck}`, (check: Check) => check)
  for (const field of ['subresource', 'namespace', 'name'] as const) {
    library.define(`${resourceCheck}.${field}(string): ${resourceCheck}`, (check: Check, text: string) =>
      narrow(check, { [field]: text }),
    )
  }
  return library
}
