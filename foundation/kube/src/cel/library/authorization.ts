// Kubernetes' authorizer library: what expressions of admission may ask about the caller's rights. The answers come from the server that
// hands in the authorizer; this file only knows how questions are put together.
import { dns1123Label, dns1123Subdomain } from '../../names.ts'
import { CelError } from '../errors.ts'
import type { CallCost } from '../call-cost.ts'
import { Library } from '../library.ts'
import type { CelType } from '../types.ts'
import { objectOf, opaque } from '../types.ts'
import { MapValue, OpaqueValue } from '../values.ts'

/** A question: may the caller, or a service account, do this? Resource questions have `resource`, others `path`. */
export interface AccessQuestion {
  readonly verb: string
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  /** Left out: the caller. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
}

/** An answer; `error` when it could not be found. */
export interface AccessAnswer {
  readonly allowed: boolean
  readonly reason: string
  readonly error?: string
}

/** Answers questions of one request. */
export type AccessCheck = (question: AccessQuestion) => AccessAnswer

type Partial = Omit<AccessQuestion, 'verb'>

const prefix = 'kubernetes.authorization'
const authorizer = `${prefix}.Authorizer`
const pathCheck = `${prefix}.PathCheck`
const groupCheck = `${prefix}.GroupCheck`
const resourceCheck = `${prefix}.ResourceCheck`
const decision = `${prefix}.Decision`

/** The type of the variable `authorizer`; its field `requestResource` is the resource of the request. */
export const authorizerType: CelType = objectOf(authorizer, new Map([['requestResource', opaque(resourceCheck)]]))

/** A check costs as much as a third of what one expression may take (Kubernetes' figure). */
const checking: CallCost = () => 350_000

class Authorizer extends MapValue {
  readonly check: AccessCheck
  readonly serviceAccount: AccessQuestion['serviceAccount']

  constructor(check: AccessCheck, serviceAccount?: AccessQuestion['serviceAccount']) {
    super()
    this.check = check
    this.serviceAccount = serviceAccount
  }

  question(type: string, question: Partial): Question {
    return makeQuestion(this.check, type, {
      ...question,
      ...(this.serviceAccount === undefined ? {} : { serviceAccount: this.serviceAccount }),
    })
  }
}

type Question = OpaqueValue<{ readonly check: AccessCheck; readonly question: Partial }>

function makeQuestion(check: AccessCheck, type: string, question: Partial): Question {
  return new OpaqueValue(type, { check, question }, JSON.stringify(question))
}

/** The value of the variable `authorizer`; `requestResource` is what the request itself is about. */
export function authorizerValue(check: AccessCheck, requestResource: Partial): MapValue {
  const value = new Authorizer(check)
  value.set('requestResource', value.question(resourceCheck, requestResource))
  return value
}

/** `authorizer.group('apps').resource('deployments').namespace('x').check('create').allowed()` and the like. */
export function authorizationLibrary(): Library {
  const library = new Library()
  const narrow = ({ type, value }: Question, more: Partial): Question =>
    makeQuestion(value.check, type, { ...value.question, ...more })
  const ask = ({ value }: Question, verb: string): OpaqueValue<AccessAnswer> => {
    const answer = value.check({ ...value.question, verb })
    return new OpaqueValue(decision, answer, JSON.stringify(answer))
  }
  library
    .define(`${authorizer}.path(string): ${pathCheck}`, (value: Authorizer, path: string) =>
      value.question(pathCheck, { path }),
    )
    .define(`${authorizer}.group(string): ${groupCheck}`, (value: Authorizer, group: string) =>
      value.question(groupCheck, { group }),
    )
    .define(
      `${authorizer}.serviceAccount(string, string): ${authorizer}`,
      (value: Authorizer, namespace: string, name: string) => {
        if (dns1123Subdomain(name).length > 0) throw new CelError('Invalid service account name')
        if (dns1123Label(namespace).length > 0) throw new CelError('Invalid service account namespace')
        return new Authorizer(value.check, { namespace, name })
      },
    )
    .define(`${groupCheck}.resource(string): ${resourceCheck}`, ({ value }: Question, resource: string) =>
      makeQuestion(value.check, resourceCheck, { ...value.question, resource }),
    )
    .define(`${pathCheck}.check(string): ${decision}`, ask, checking)
    .define(`${resourceCheck}.check(string): ${decision}`, ask, checking)
    .define(`${decision}.allowed(): bool`, ({ value }: OpaqueValue<AccessAnswer>) => value.allowed)
    .define(`${decision}.reason(): string`, ({ value }: OpaqueValue<AccessAnswer>) => value.reason)
    .define(`${decision}.errored(): bool`, ({ value }: OpaqueValue<AccessAnswer>) => value.error !== undefined)
    .define(`${decision}.error(): string`, ({ value }: OpaqueValue<AccessAnswer>) => value.error ?? '')
  // No authorizer here looks at selectors: they narrow nothing.
  for (const selector of ['fieldSelector', 'labelSelector'])
    library.define(`${resourceCheck}.${selector}(string): ${resourceCheck}`, (question: Question) => question)
  for (const field of ['subresource', 'namespace', 'name'] as const) {
    library.define(`${resourceCheck}.${field}(string): ${resourceCheck}`, (question: Question, text: string) =>
      narrow(question, { [field]: text }),
    )
  }
  return library
}
