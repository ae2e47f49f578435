// CertificateSigningRequests: spec is immutable, approval and certificate are written through subresources.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath, goQuote, jsonEqual, pathSegmentName } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { invalidWith, oneOf, repeatedIndices } from '../checks.ts'
import { draftAt, draftsAt, ensureAt, has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

/** The strategy of CertificateSigningRequests. */
export const certificateRequestStrategy: Strategy = {
  hasStatus: true,
  resetFields: {
    '': [['spec'], ['status']],
    status: [['spec'], ['status', 'conditions']],
    approval: [['spec'], ['status', 'certificate']],
  },
  validateName: (name) => pathSegmentName(name),
  applyDefaults(object) {
    for (const condition of draftsAt(draftAt(object, 'status'), 'conditions'))
      if (stringAt(condition, 'status') === '') condition['status'] = 'True'
  },
  prepareForCreate(object, context) {
    const spec = ensureAt(object, 'spec')
    const { name, uid, groups, extra } = context.user
    Object.assign(spec, { username: name, groups: [...groups] }, uid === undefined ? {} : { uid })
    if (extra === undefined) delete spec['extra']
    else spec['extra'] = extra as JsonObject
    object['status'] = {}
  },
  prepareForUpdate(object, old, { subresource, now }) {
    object['spec'] = { ...objectAt(old, 'spec') }
    const before = objectAt(old, 'status')
    if (subresource === '') {
      object['status'] = { ...before }
      return
    }
    const status = ensureAt(object, 'status')
    if (subresource === 'approval') object['status'] = withConditions(before, status)
    setTimes(ensureAt(object, 'status'), before, `${new Date(now).toISOString().slice(0, 19)}Z`)
  },
  validate: (object) => requestErrors(object),
  validateUpdate: (object, old) => [...requestErrors(object), ...changeErrors(object, old, '')],
  validateStatusUpdate: (object, old, { subresource }) => [
    ...requestErrors(object),
    ...changeErrors(object, old, subresource),
  ],
}

function withConditions(before: JsonObject, status: JsonObject): JsonObject {
  const { conditions: _old, ...rest } = before
  return status['conditions'] === undefined ? rest : { ...rest, conditions: status['conditions'] }
}

function setTimes(status: MutableJsonObject, before: JsonObject, now: string): void {
  const earlier = new Map<string, JsonObject>()
  const identityOf = ({ type, status: state }: JsonObject): string => JSON.stringify([type, state])
  for (const old of objectsAt(before, 'conditions').toReversed()) earlier.set(identityOf(old), old)
  for (const condition of draftsAt(status, 'conditions')) {
    if (!has(condition, 'lastUpdateTime')) condition['lastUpdateTime'] = now
    if (has(condition, 'lastTransitionTime')) continue
    condition['lastTransitionTime'] = earlier.get(identityOf(condition))?.['lastTransitionTime'] ?? now
  }
}

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]

function requestErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const given = stringsAt(spec, 'usages')
  const signer = stringAt(spec, 'signerName')
  const seconds = numberAt(spec, 'expirationSeconds')
  const errors: FieldError[] = []
  if (!isPem(stringAt(spec, 'request')))
    errors.push(
      fieldErrors.invalid('spec.request', spec['request'] ?? null, 'PEM block type must be CERTIFICATE REQUEST'),
    )
  if (given.length === 0) errors.push(fieldErrors.required('spec.usages'))
  for (const [index, usage] of given.entries()) errors.push(...oneOf(fieldPath('spec.usages', index), usage, usages))
  for (const index of repeatedIndices(given))
    errors.push(fieldErrors.duplicate(fieldPath('spec.usages', index), given[index]!))
  if (signer === 'kubernetes.io/legacy-unknown')
    errors.push(
      fieldErrors.invalid('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'),
    )
  else errors.push(...signerErrors('spec.signerName', signer))
  if (seconds !== undefined && seconds < 600)
    errors.push(
      fieldErrors.invalid(
        'spec.expirationSeconds',
        seconds,
        'may not specify a duration less than 600 seconds (10 minutes)',
      ),
    )
  return [...errors, ...conditionErrors(objectsAt(object, 'status', 'conditions'))]
}

function isPem(request: string): boolean {
  const text = Buffer.from(request, 'base64').toString('latin1')
  return /-----BEGIN CERTIFICATE REQUEST-----[\s\S]+-----END CERTIFICATE REQUEST-----/.test(text)
}

function signerErrors(field: string, signer: string): FieldError[] {
  if (signer === '') return [fieldErrors.required(field)]
  const [domain = '', path, ...more] = signer.split('/')
  if (path === undefined || more.length > 0)
    return [
      fieldErrors.invalid(
        field,
        signer,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ]
  if (!domain.includes('.'))
    return [fieldErrors.invalid(field, domain, 'should be a domain with at least two segments separated by dots')]
  return [
    ...invalidWith(field, domain, dns1123Subdomain(domain)),
    ...invalidWith(field, path, dns1123Subdomain(path.toLowerCase())),
  ]
}

const finalTypes = new Set(['Approved', 'Denied', 'Failed'])

function conditionErrors(conditions: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>()
  return conditions.flatMap((condition, index) => {
    const path = fieldPath('status.conditions', index)
    const type = stringAt(condition, 'type')
    const status = stringAt(condition, 'status')
    const errors = type === '' ? [fieldErrors.required(`${path}.type`)] : []
    errors.push(
      ...oneOf(`${path}.status`, status, finalTypes.has(type) ? ['True'] : ['False', 'True', 'Unknown'], 'required'),
    )
    const opposite = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined
    if (opposite !== undefined && seen.has(opposite))
      errors.push(
        fieldErrors.invalid('status.conditions', type, 'Approved and Denied conditions are mutually exclusive'),
      )
    if (seen.has(type)) errors.push(fieldErrors.duplicate(`${path}.type`, type))
    seen.add(type)
    return errors
  })
}

function changeErrors(object: KubeObject, old: KubeObject, subresource: string): FieldError[] {
  const errors: FieldError[] = []
  const ofType = (of: KubeObject, type: string): readonly JsonObject[] =>
    objectsAt(of, 'status', 'conditions').filter((condition) => condition['type'] === type)
  const forbidden = (what: string, type: string): number =>
    errors.push(
      fieldErrors.forbidden('status.conditions', `updates may not ${what} a condition of type ${goQuote(type)}`),
    )
  for (const type of finalTypes) if (ofType(object, type).length < ofType(old, type).length) forbidden('remove', type)
  if (subresource !== 'approval') {
    for (const type of ['Approved', 'Denied']) {
      const [now, before] = [ofType(object, type), ofType(old, type)]
      if (now.length > before.length) forbidden('add', type)
      else if (now.length === before.length && !jsonEqual(now, before)) forbidden('modify', type)
    }
  }
  const [certificate, before] = [stringAt(object, 'status', 'certificate'), stringAt(old, 'status', 'certificate')]
  if (certificate !== before) {
    if (subresource !== 'status')
      errors.push(fieldErrors.forbidden('status.certificate', 'updates may not set certificate content'))
    else if (before !== '')
      errors.push(fieldErrors.forbidden('status.certificate', 'updates may not modify existing certificate content'))
  }
  return errors
}
