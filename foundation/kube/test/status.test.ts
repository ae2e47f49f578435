import { describe, expect, test } from 'vitest'
import type { FieldError, StatusError } from '@fairlead/kube'
import * as kube from '@fairlead/kube'
import { fieldErrorBody, fieldErrors, fieldPath, formatFieldError, formatFieldErrors } from '@fairlead/kube'

const configMaps = { group: '', plural: 'configmaps' }
const deployments = { group: 'apps', plural: 'deployments' }

describe('Status', () => {
  test.each<[StatusError, object]>([
    [
      kube.notFound(deployments, 'x'),
      {
        message: 'deployments.apps "x" not found',
        reason: 'NotFound',
        details: { name: 'x', group: 'apps', kind: 'deployments' },
        code: 404,
      },
    ],
    [
      kube.resourceNotFound(),
      { message: 'the server could not find the requested resource', reason: 'NotFound', details: {}, code: 404 },
    ],
    [
      kube.alreadyExists(configMaps, 'a'),
      {
        message: 'configmaps "a" already exists',
        reason: 'AlreadyExists',
        details: { name: 'a', kind: 'configmaps' },
        code: 409,
      },
    ],
    [
      kube.conflict(configMaps, 'a'),
      {
        message:
          'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
        reason: 'Conflict',
        details: { name: 'a', kind: 'configmaps' },
        code: 409,
      },
    ],
    [kube.badRequest('no'), { message: 'no', reason: 'BadRequest', code: 400 }],
    [kube.unauthorized(), { message: 'Unauthorized', reason: 'Unauthorized', code: 401 }],
    [
      kube.forbidden(configMaps, '', 'because'),
      { message: 'configmaps is forbidden: because', reason: 'Forbidden', details: { kind: 'configmaps' }, code: 403 },
    ],
    [
      kube.forbidden(configMaps, 'a', 'because', [{ reason: 'R' }]),
      {
        message: 'configmaps "a" is forbidden: because',
        reason: 'Forbidden',
        details: { name: 'a', kind: 'configmaps', causes: [{ reason: 'R' }] },
        code: 403,
      },
    ],
    [
      kube.forbidden({ group: '', plural: '' }, '', 'User "u" cannot get path "/x"'),
      { message: 'forbidden: User "u" cannot get path "/x"', reason: 'Forbidden', details: {}, code: 403 },
    ],
    [
      kube.methodNotAllowed(),
      {
        message: 'the server does not allow this method on the requested resource',
        reason: 'MethodNotAllowed',
        details: {},
        code: 405,
      },
    ],
    [kube.notAcceptable('x'), { message: 'x', reason: 'NotAcceptable', code: 406 }],
    [
      kube.expired('too old resource version: 1 (2)'),
      { message: 'too old resource version: 1 (2)', reason: 'Expired', code: 410 },
    ],
    [
      kube.requestEntityTooLarge('limit is 3145728'),
      { message: 'Request entity too large: limit is 3145728', reason: 'RequestEntityTooLarge', code: 413 },
    ],
    [
      kube.unsupportedMediaType(['application/json', 'application/yaml']),
      {
        message:
          'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
        reason: 'UnsupportedMediaType',
        code: 415,
      },
    ],
    [
      kube.unprocessable(),
      {
        message: 'the server rejected our request due to an error in our request',
        reason: 'Invalid',
        details: {},
        code: 422,
      },
    ],
    [
      kube.internalError('boom'),
      {
        message: 'Internal error occurred: boom',
        reason: 'InternalError',
        details: { causes: [{ message: 'boom' }] },
        code: 500,
      },
    ],
    [kube.unknownError('odd'), { message: 'odd', code: 500 }],
    [
      kube.resourceVersionTooLarge('9', '1'),
      {
        message: 'Timeout: Too large resource version: 9, current: 1',
        reason: 'Timeout',
        details: {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          retryAfterSeconds: 1,
        },
        code: 504,
      },
    ],
    [
      kube.tooManyRequests('slow down', 3),
      { message: 'slow down', reason: 'TooManyRequests', details: { retryAfterSeconds: 3 }, code: 429 },
    ],
    [
      kube.invalid({ group: '', kind: 'ConfigMap' }, '', [
        fieldErrors.required('metadata.name', 'name or generateName is required'),
      ]),
      {
        message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        reason: 'Invalid',
        details: {
          kind: 'ConfigMap',
          causes: [
            {
              reason: 'FieldValueRequired',
              message: 'Required value: name or generateName is required',
              field: 'metadata.name',
            },
          ],
        },
        code: 422,
      },
    ],
    [
      kube.invalid({ group: 'apps', kind: 'Deployment' }, 'd', [
        fieldErrors.required('spec.selector'),
        fieldErrors.invalid('spec.replicas', -3, 'must be greater than or equal to 0'),
      ]),
      {
        message:
          'Deployment.apps "d" is invalid: [spec.selector: Required value, spec.replicas: Invalid value: -3: must be greater than or equal to 0]',
        reason: 'Invalid',
        details: {
          name: 'd',
          group: 'apps',
          kind: 'Deployment',
          causes: [
            { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.selector' },
            {
              reason: 'FieldValueInvalid',
              message: 'Invalid value: -3: must be greater than or equal to 0',
              field: 'spec.replicas',
            },
          ],
        },
        code: 422,
      },
    ],
  ])('%s', (error, rest) => {
    expect(error.status).toEqual({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...rest })
    expect(error.message).toBe(error.status.message)
    expect(kube.isFailureStatus(error.status)).toBe(true)
  })

  test('predicates check the reason, and the code only without a reason', () => {
    const errors = {
      notFound: kube.notFound(configMaps, 'a'),
      exists: kube.alreadyExists(configMaps, 'a'),
      conflict: kube.conflict(configMaps, 'a'),
      forbidden: kube.forbidden(configMaps, 'a', 'x', [{ reason: 'NamespaceTerminating' }]),
      invalid: kube.unprocessable(),
      expired: kube.expired('x'),
      gone: kube.failure(410, 'Gone', 'x'),
      bare: kube.failure(404, undefined, 'x'),
      other: new Error('x'),
    }
    const holds = (predicate: (error: unknown) => boolean): string[] =>
      Object.entries(errors)
        .filter(([, error]) => predicate(error))
        .map(([name]) => name)
    expect({
      isNotFound: holds(kube.isNotFound),
      isAlreadyExists: holds(kube.isAlreadyExists),
      isConflict: holds(kube.isConflict),
      isForbidden: holds(kube.isForbidden),
      isInvalid: holds(kube.isInvalid),
      isExpired: holds(kube.isExpired),
      isNamespaceTerminating: holds(kube.isNamespaceTerminating),
    }).toEqual({
      isNotFound: ['notFound', 'bare'],
      isAlreadyExists: ['exists'],
      isConflict: ['conflict'],
      isForbidden: ['forbidden'],
      isInvalid: ['invalid'],
      isExpired: ['expired', 'gone'],
      isNamespaceTerminating: ['forbidden'],
    })
  })
})

describe('field errors', () => {
  test.each<[FieldError, string]>([
    [fieldErrors.required('f'), 'Required value'],
    [fieldErrors.invalid('f', 'a"b\u0000', 'd'), 'Invalid value: "a\\"b\\x00": d'],
    [fieldErrors.invalid('f', undefined, 'failed rule: x'), 'Invalid value: failed rule: x'],
    [fieldErrors.invalid('f', null, 'd'), 'Invalid value: null: d'],
    [fieldErrors.invalid('f', { b: '<', a: [1] }, 'd'), 'Invalid value: {"a":[1],"b":"\\u003c"}: d'],
    [fieldErrors.invalid('f', 1.5, 'd'), 'Invalid value: 1.5: d'],
    [fieldErrors.invalid('f', 9007199254740993n, 'd'), 'Invalid value: 9007199254740993: d'],
    [fieldErrors.invalid('f', true, 'd'), 'Invalid value: true: d'],
    [fieldErrors.forbidden('f', 'd'), 'Forbidden: d'],
    [fieldErrors.notSupported('f', 'x', ['a', 'b']), 'Unsupported value: "x": supported values: "a", "b"'],
    [fieldErrors.duplicate('f', { port: 80 }), 'Duplicate value: {"port":80}'],
    [fieldErrors.tooLong('f', 128), 'Too long: may not be more than 128 bytes'],
    [fieldErrors.tooLongCharacters('f', 1), 'Too long: may not be more than 1 character'],
    [fieldErrors.tooMany('f', 3, 2), 'Too many: 3: must have at most 2 items'],
    [fieldErrors.notFound('f', 'x'), 'Not found: "x"'],
    [
      fieldErrors.typeInvalid('f', 'string', 'f in body must be of type integer: "string"'),
      'Invalid value: "string": f in body must be of type integer: "string"',
    ],
    [fieldErrors.internal('f', 'd'), 'Internal error: d'],
  ])('%o', (error, body) => {
    expect(fieldErrorBody(error)).toBe(body)
    expect(formatFieldError(error)).toBe(`f: ${body}`)
  })

  test('several errors are joined without duplicates', () => {
    const a = fieldErrors.required('a')
    const b = fieldErrors.required('b')
    expect([formatFieldErrors([]), formatFieldErrors([a]), formatFieldErrors([a, b, a])]).toEqual([
      '',
      'a: Required value',
      '[a: Required value, b: Required value]',
    ])
  })

  test('fieldPath joins steps', () => {
    expect(fieldPath('spec', 'ports', 0, 'name')).toBe('spec.ports[0].name')
    expect(fieldPath('', 'metadata', 'labels', { key: 'a/b' })).toBe('metadata.labels[a/b]')
  })
})
