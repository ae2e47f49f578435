// `serviceaccounts/NAME/token`: validates a TokenRequest and issues the token.
import { badRequest, conflict, fieldErrors, invalid, notFound, parseApiVersion } from '@fairlead/kube'
import type { FieldError, KubeObject } from '@fairlead/kube'
import { timestamp } from '../objects/timestamp.ts'
import type { Store } from '../storage/store.ts'
import type { BoundObject, ServiceAccountTokens } from './service-account-tokens.ts'

/** The context of a TokenRequest. */
export interface TokenRequestContext {
  /** Of the service account, from the path. */
  readonly namespace: string
  readonly name: string
  readonly tokens: ServiceAccountTokens
  readonly store: Pick<Store, 'get'>
  /** Milliseconds since the epoch. */
  readonly now: number
}

interface BoundObjectRef {
  readonly apiVersion?: string
  readonly kind?: string
  readonly name?: string
  readonly uid?: string
}

interface TokenRequestSpec {
  readonly audiences?: readonly string[] | null
  readonly expirationSeconds?: number | null
  readonly boundObjectRef?: BoundObjectRef | null
}

const kind = { group: 'authentication.k8s.io', kind: 'TokenRequest' }
const defaultSeconds = 3600
const leastSeconds = 600
const mostSeconds = 2 ** 32

/** Returns a TokenRequest with its default lifetime, which its managedFields include. */
export function defaultTokenRequest(object: KubeObject): KubeObject {
  const spec = (object.spec ?? {}) as TokenRequestSpec
  return spec.expirationSeconds === undefined || spec.expirationSeconds === null
    ? { ...object, spec: { ...spec, expirationSeconds: defaultSeconds } }
    : object
}

/**
 * Answers a TokenRequest with a token. Throws a StatusError: 404 for a missing account or bound object, 422 for an
 * invalid spec, 400 for kinds that cannot be bound, 409 for a bound object of another uid.
 */
export async function answerTokenRequest(request: KubeObject, context: TokenRequestContext): Promise<KubeObject> {
  const { namespace, name, tokens, store, now } = context
  const object = defaultTokenRequest(request)
  const mismatches = nameErrors(object, namespace, name)
  if (mismatches.length > 0) throw invalid(kind, name, mismatches)
  const account = await store.get('serviceaccounts.', `${namespace}/${name}`)
  if (account === undefined) throw notFound({ group: '', plural: 'serviceaccounts' }, name)
  const { uid } = account.object.metadata as { uid: string }
  const spec = object.spec as TokenRequestSpec
  const audiences =
    spec.audiences === undefined || spec.audiences === null || spec.audiences.length === 0
      ? tokens.audiences
      : spec.audiences
  const expirationSeconds = spec.expirationSeconds ?? defaultSeconds
  const errors = lifetimeErrors(expirationSeconds)
  if (errors.length > 0) throw invalid(kind, '', errors)
  const reference = spec.boundObjectRef ?? undefined
  const bound = reference === undefined ? undefined : await findBoundObject(reference, context)
  // A dry run issues a token, too: nothing is stored either way.
  const token = await tokens.issue({ namespace, name, uid, audiences, expirationSeconds, bound })
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { ...object.metadata, name, namespace, uid, creationTimestamp: timestamp(now) },
    spec: { audiences, expirationSeconds, boundObjectRef: reference ?? null },
    status: { token, expirationTimestamp: timestamp(now + expirationSeconds * 1000) },
  }
}

function nameErrors({ metadata }: KubeObject, namespace: string, name: string): FieldError[] {
  const given = metadata ?? {}
  if (given.name !== undefined && given.name !== '' && given.name !== name) {
    return [fieldErrors.invalid('metadata.name', given.name, 'must match the service account name if specified')]
  }
  if (given.namespace !== undefined && given.namespace !== '' && given.namespace !== namespace) {
    return [
      fieldErrors.invalid(
        'metadata.namespace',
        given.namespace,
        'must match the service account namespace if specified',
      ),
    ]
  }
  return []
}

function lifetimeErrors(seconds: number): FieldError[] {
  if (seconds < leastSeconds)
    return [fieldErrors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes')]
  if (seconds > mostSeconds)
    return [
      fieldErrors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    ]
  return []
}

async function findBoundObject(reference: BoundObjectRef, context: TokenRequestContext): Promise<BoundObject> {
  const { namespace, name: account, store } = context
  const { apiVersion = '', kind: wanted = '', name = '' } = reference
  const { group, version } = parseApiVersion(apiVersion)
  if (group !== '' || !isBindable(wanted)) {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${wanted}`)
  }
  const plural = `${wanted.toLowerCase()}s`
  const entry = await store.get(`${plural}.`, wanted === 'Node' ? name : `${namespace}/${name}`)
  if (entry === undefined) throw notFound({ group: '', plural }, name)
  const { uid } = entry.object.metadata as { uid: string }
  const node = wanted === 'Pod' ? await nodeOf(entry.object as unknown as Pod, account, store) : undefined
  if (reference.uid !== undefined && reference.uid !== '' && reference.uid !== uid) {
    throw conflict(
      { group: '', plural: wanted },
      name,
      `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  }
  return { kind: wanted, name, uid, ...(node !== undefined && { node }) }
}

interface Pod {
  readonly spec?: { readonly serviceAccountName?: string; readonly nodeName?: string }
}

async function nodeOf({ spec = {} }: Pod, account: string, store: Pick<Store, 'get'>): Promise<BoundObject['node']> {
  if (spec.serviceAccountName !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    )
  }
  if (spec.nodeName === undefined || spec.nodeName === '') return undefined
  const node = await store.get('nodes.', spec.nodeName)
  const uid = (node?.object.metadata as { uid?: string } | undefined)?.uid
  return { name: spec.nodeName, ...(uid !== undefined && { uid }) }
}

function isBindable(kind: string): kind is BoundObject['kind'] {
  return kind === 'Pod' || kind === 'Secret' || kind === 'Node'
}
