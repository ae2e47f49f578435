// Tokens of service accounts from request to rejection. Messages: recording auth/token-request.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT, UnsecuredJWT } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { FakeClock } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import {
  answerTokenRequest,
  authenticate,
  memory,
  reviewSelf,
  reviewToken,
  ServiceAccountTokens,
} from '@fairlead/apiserver'
import type { Store, TokenReviewContext } from '@fairlead/apiserver'

const issuer = 'https://kubernetes.default.svc.cluster.local'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sa', namespace: 'ns', uid: 'uid-sa' } }
const groups = ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated']

let clock: FakeClock
let store: Store
let tokens: ServiceAccountTokens

beforeEach(async () => {
  clock = new FakeClock('2026-01-01T00:00:00Z')
  store = await memory({ clock }).open()
  let count = 0
  tokens = new ServiceAccountTokens({
    key: privateKey,
    issuer,
    audiences: [issuer],
    clock,
    store,
    newUid: () => `jti-${++count}`,
  })
  await put('serviceaccounts.', 'ns/sa', account)
})

async function put(resource: string, key: string, object: object): Promise<void> {
  await store.write({
    resource,
    key,
    expected: (await store.head(resource, key))?.revision ?? 0,
    object: object as never,
  })
}

async function remove(resource: string, key: string): Promise<void> {
  await store.write({ resource, key, expected: (await store.head(resource, key))!.revision, object: undefined })
}

function request(spec: object, more: object = {}, name = 'sa'): Promise<KubeObject> {
  const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec, ...more }
  return answerTokenRequest(object as KubeObject, { namespace: 'ns', name, tokens, store, now: clock.now() })
}

async function tokenFor(spec: object): Promise<string> {
  return ((await request(spec)).status as { token: string }).token
}

function whose(token: string): Promise<unknown> {
  return authenticate([tokens.authenticator()], {
    authorization: `Bearer ${token}`,
    certificate: undefined,
    headers: {},
  })
}

test('remembers no long tokens', async () => {
  const long = await tokenFor({ audiences: [issuer, 'x'.repeat(100_000)] })
  const short = await tokenFor({})
  expect(await whose(long)).toMatchObject({ name: 'system:serviceaccount:ns:sa' })
  expect(await whose(short)).toMatchObject({ name: 'system:serviceaccount:ns:sa' })
  expect(tokens.rememberedTokens).toBe(1)
})

describe('a TokenRequest', () => {
  test('returns a token for this server, valid for an hour', async () => {
    const answer = await request({})
    expect(answer).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: 'sa', namespace: 'ns', uid: 'uid-sa', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { audiences: [issuer], expirationSeconds: 3600, boundObjectRef: null },
      status: { token: expect.any(String), expirationTimestamp: '2026-01-01T01:00:00Z' },
    })
    const { token } = answer.status as { token: string }
    const now = clock.now() / 1000
    expect(decodeJwt(token)).toEqual({
      iss: issuer,
      sub: 'system:serviceaccount:ns:sa',
      aud: [issuer],
      iat: now,
      nbf: now,
      exp: now + 3600,
      jti: 'jti-1',
      'kubernetes.io': { namespace: 'ns', serviceaccount: { name: 'sa', uid: 'uid-sa' } },
    })
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', kid: expect.any(String) })
    expect(await whose(token)).toEqual({
      name: 'system:serviceaccount:ns:sa',
      uid: 'uid-sa',
      groups,
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=jti-1'] },
    })
  })

  test.each<[string, object, object, string, number, string]>([
    [
      'too short a life',
      { expirationSeconds: 10 },
      {},
      'sa',
      422,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes',
    ],
    [
      'too long a life',
      { expirationSeconds: 2 ** 32 + 1 },
      {},
      'sa',
      422,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
    ['a missing account', {}, {}, 'zz', 404, 'serviceaccounts "zz" not found'],
    [
      'another name',
      {},
      { metadata: { name: 'x' } },
      'sa',
      422,
      'TokenRequest.authentication.k8s.io "sa" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      'a kind that cannot be bound',
      { boundObjectRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' } },
      {},
      'sa',
      400,
      'cannot bind token to object of type /v1, Kind=ConfigMap',
    ],
    [
      'a missing object',
      { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'x' } },
      {},
      'sa',
      404,
      'secrets "x" not found',
    ],
  ])('with %s is refused', async (_, spec, more, name, code, message) => {
    await expect(request(spec, more, name)).rejects.toMatchObject({ code, message })
  })
})

describe('a service account token', () => {
  test('for another audience is rejected', async () => {
    const token = await tokenFor({ audiences: ['x'], expirationSeconds: 3600 })
    expect(await whose(token)).toBeUndefined()
    expect(await tokens.verify(token, ['y', 'x'])).toMatchObject({ audiences: ['x'], user: { uid: 'uid-sa' } })
  })

  test('expires with a leeway of a minute for clock skew', async () => {
    const token = await tokenFor({ expirationSeconds: 600 })
    await clock.advance(659_000)
    expect(await whose(token)).toBeDefined()
    await clock.advance(2_000)
    expect(await whose(token)).toBeUndefined()
  })

  test('is invalid once its account is deleted, also when another takes its name', async () => {
    const token = await tokenFor({})
    expect(await whose(token)).toBeDefined()
    await remove('serviceaccounts.', 'ns/sa')
    expect(await whose(token)).toBeUndefined()
    await put('serviceaccounts.', 'ns/sa', { ...account, metadata: { ...account.metadata, uid: 'uid-new' } })
    expect(await whose(token)).toBeUndefined()
  })

  test('is invalid a minute after the deletion of its account began', async () => {
    const token = await tokenFor({})
    await put('serviceaccounts.', 'ns/sa', {
      ...account,
      metadata: { ...account.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    })
    expect(await whose(token)).toBeDefined()
    await clock.advance(61_000)
    expect(await whose(token)).toBeUndefined()
  })

  const pod = {
    metadata: { name: 'p', namespace: 'ns', uid: 'uid-pod' },
    spec: { serviceAccountName: 'sa', nodeName: 'n' },
  }
  const toPod = { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-pod' } }

  test('of a Pod contains the Pod and its node, and is invalid once the Pod is deleted', async () => {
    await put('pods.', 'ns/p', pod)
    await put('nodes.', 'n', { metadata: { name: 'n', uid: 'uid-node' } })
    const token = await tokenFor(toPod)
    expect(decodeJwt(token)['kubernetes.io']).toEqual({
      namespace: 'ns',
      serviceaccount: { name: 'sa', uid: 'uid-sa' },
      pod: { name: 'p', uid: 'uid-pod' },
      node: { name: 'n', uid: 'uid-node' },
    })
    expect(await whose(token)).toMatchObject({
      extra: {
        'authentication.kubernetes.io/node-name': ['n'],
        'authentication.kubernetes.io/node-uid': ['uid-node'],
        'authentication.kubernetes.io/pod-name': ['p'],
        'authentication.kubernetes.io/pod-uid': ['uid-pod'],
      },
    })
    await remove('nodes.', 'n')
    expect(await whose(token)).toBeDefined()
    await remove('pods.', 'ns/p')
    expect(await whose(token)).toBeUndefined()
  })

  test('cannot be bound to a Pod of another account or uid', async () => {
    await put('pods.', 'ns/p', { ...pod, spec: { serviceAccountName: 'other' } })
    await expect(request(toPod)).rejects.toMatchObject({
      code: 400,
      message: 'cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.',
    })
    await put('pods.', 'ns/p', { ...pod, metadata: { ...pod.metadata, uid: 'uid-2' } })
    await expect(request(toPod)).rejects.toMatchObject({
      code: 409,
      message: expect.stringContaining(
        'the UID in the bound object reference (uid-pod) does not match the UID in record',
      ),
    })
  })

  test('of a Secret or a Node is invalid once that is deleted', async () => {
    await put('secrets.', 'ns/s', { metadata: { name: 's', uid: 'uid-s' } })
    await put('nodes.', 'n', { metadata: { name: 'n', uid: 'uid-n' } })
    for (const [kind, name, resource, key] of [
      ['Secret', 's', 'secrets.', 'ns/s'],
      ['Node', 'n', 'nodes.', 'n'],
    ]) {
      const token = await tokenFor({ boundObjectRef: { apiVersion: 'v1', kind, name } })
      expect(await whose(token)).toBeDefined()
      await remove(resource!, key!)
      expect(await whose(token)).toBeUndefined()
    }
  })

  test('with another signature is rejected', async () => {
    const good = await tokenFor({})
    const [header, payload, signature] = good.split('.')
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const claims = decodeJwt(good)
    const forged = [
      '',
      'x',
      'a.b.c',
      good.slice(0, -2),
      `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url')}.${signature}`,
      `${header}.${payload}.`,
      new UnsecuredJWT(claims).encode(),
      await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(other),
      await new SignJWT({ ...claims, iss: 'https://elsewhere' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
      // The public key must not be usable as an HMAC secret.
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))),
    ]
    for (const token of forged) expect(await tokens.verify(token)).toBeUndefined()
    expect(await whose(good)).toBeDefined()
  })

  test('can be verified with the published keys', async () => {
    expect(tokens.discoveryDocument()).toEqual({
      issuer,
      jwks_uri: `${issuer}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    })
    const keys = createLocalJWKSet(tokens.keySet() as unknown as JSONWebKeySet)
    const { payload } = await jwtVerify(await tokenFor({ audiences: ['them'] }), keys, {
      audience: 'them',
      issuer,
      currentDate: new Date(clock.now()),
    })
    expect(payload.sub).toBe('system:serviceaccount:ns:sa')
  })
})

describe('an authentication review', () => {
  const review = (spec: object): Promise<KubeObject> => {
    const context: TokenReviewContext = { authenticators: [tokens.authenticator()], tokens, audiences: [issuer] }
    return reviewToken(
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec } as KubeObject,
      context,
    )
  }

  test('returns the user of a SelfSubjectReview', () => {
    const question = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} }
    const user = { name: 'admin', uid: 'uid-admin', groups: ['system:masters', 'system:authenticated'] }
    expect(reviewSelf(question, user, clock.now())).toEqual({
      ...question,
      metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
      status: { userInfo: { username: 'admin', uid: 'uid-admin', groups: ['system:masters', 'system:authenticated'] } },
    })
  })

  test('returns user and audiences of a token in a TokenReview', async () => {
    const token = await tokenFor({ audiences: ['x', issuer] })
    const user = {
      username: 'system:serviceaccount:ns:sa',
      uid: 'uid-sa',
      groups,
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=jti-1'] },
    }
    expect((await review({ token })).status).toEqual({ authenticated: true, user, audiences: [issuer] })
    expect((await review({ token, audiences: ['x', 'y'] })).status).toEqual({
      authenticated: true,
      user,
      audiences: ['x'],
    })
    expect((await review({ token, audiences: ['y'] })).status).toEqual({
      user: {},
      error: `[invalid bearer token, token audiences ["x" "${issuer}"] is invalid for the target audiences ["y"]]`,
    })
    expect((await review({ token: 'nonsense' })).status).toEqual({ user: {}, error: 'invalid bearer token' })
    await expect(review({})).rejects.toMatchObject({
      code: 400,
      message: 'token is required for TokenReview in authentication',
    })
  })
})
