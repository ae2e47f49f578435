// Webhooks of git servers that sign their requests, as `fairlead run` serves them.
import { createHmac } from 'node:crypto'
import type { SignedRequest } from '@fairlead/controller'
import { StatusError } from '@fairlead/kube'
import { expect, test } from 'vitest'
import type { Repository } from '../src/api.ts'
import { signedWebhookRoute } from '../src/routes/signed-webhook-route.ts'
import type { SignedWebhookHost } from '../src/routes/signed-webhook-route.ts'

const body = Buffer.from('{"ref": "refs/heads/main"}')
const sign = (secret: string, bytes: Buffer = body): string =>
  `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`
const bare = (secret: string): string => sign(secret).slice('sha256='.length)
const key = Buffer.from('a key of thirty-two bytes, or so')
/** Headers of Standard Webhooks, as GitLab sends them for a signing token. */
const standard = (by: Buffer): Record<string, string> => ({
  'webhook-id': 'f6266f16',
  'webhook-timestamp': '1700000000',
  'webhook-signature': `v1,${createHmac('sha256', by).update(`f6266f16.1700000000.${body.toString()}`).digest('base64')}`,
})
const github = (signature: string): Record<string, string> => ({ 'x-hub-signature-256': signature })

const repository = (secret?: string): Repository =>
  ({
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'Repository',
    metadata: { namespace: 'team-a', name: 'blueprints' },
    spec: {
      type: 'git',
      git: { repo: 'https://git.example.com/b.git', ...(secret && { secretRef: { name: secret } }) },
    },
  }) as unknown as Repository

const repositories: Readonly<Record<string, Repository>> = {
  'team-a/blueprints': repository('hook'),
  'team-a/open': repository(),
  'team-a/empty': repository('empty'),
  'team-a/other': repository('credentials'),
  'team-a/signed': repository('token'),
  'team-a/keyless': repository('keyless'),
}
const secrets: Readonly<Record<string, string>> = {
  'team-a/hook': 'it is a secret',
  'team-a/empty': '',
  'team-a/token': `whsec_${key.toString('base64')}`,
  'team-a/keyless': 'whsec_',
}

/** Handles a request; returns its code and the repositories that are read. */
async function deliver(request: Partial<SignedRequest>, host: Partial<SignedWebhookHost> = {}): Promise<unknown> {
  const read: string[] = []
  const route = signedWebhookRoute({
    leads: () => true,
    repository: ({ namespace, name }) => repositories[`${namespace}/${name}`],
    webhookSecret: async ({ namespace, name }) => secrets[`${namespace}/${name}`],
    sync: ({ namespace, name }) => void read.push(`${namespace}/${name}`),
    ...host,
  })
  try {
    const response = await route.handle({
      method: 'POST',
      path: ['team-a', 'blueprints'],
      headers: {},
      body,
      ...request,
    })
    return [response?.status, ...read]
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return [error.code, ...read]
  }
}

test('accepts the delivery that the documentation of GitHub computes', async () => {
  const headers = github('sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17')
  const webhookSecret = async (): Promise<string> => "It's a Secret to Everybody"
  expect(await deliver({ headers, body: Buffer.from('Hello, World!') }, { webhookSecret })).toEqual([
    202,
    'team-a/blueprints',
  ])
})

test.each<[string, Partial<SignedRequest>, unknown]>([
  ['of GitHub, Gitea and Forgejo', { headers: github(sign('it is a secret')) }, [202, 'team-a/blueprints']],
  ['of Bitbucket', { headers: { 'x-hub-signature': sign('it is a secret') } }, [202, 'team-a/blueprints']],
  ['of GitLab', { headers: { 'x-gitlab-token': 'it is a secret' } }, [202, 'team-a/blueprints']],
  ['of Gogs', { headers: { 'x-gogs-signature': bare('it is a secret') } }, [202, 'team-a/blueprints']],
  [
    'of Gitea without its form of GitHub',
    { headers: { 'x-gitea-signature': bare('it is a secret') } },
    [202, 'team-a/blueprints'],
  ],
  [
    'of Forgejo without its form of GitHub',
    { headers: { 'x-forgejo-signature': bare('it is a secret') } },
    [202, 'team-a/blueprints'],
  ],
  ['of Gogs, signed with another secret', { headers: { 'x-gogs-signature': bare('guessed') } }, [401]],
  ['of GitLab with a signing token', { path: ['team-a', 'signed'], headers: standard(key) }, [202, 'team-a/signed']],
  [
    'of GitLab with one of two signatures',
    {
      path: ['team-a', 'signed'],
      headers: { ...standard(key), 'webhook-signature': `v1,x ${standard(key)['webhook-signature']}` },
    },
    [202, 'team-a/signed'],
  ],
  [
    'of GitLab, signed with another token',
    { path: ['team-a', 'signed'], headers: standard(Buffer.from('guessed')) },
    [401],
  ],
  [
    'of GitLab, signed at another time',
    { path: ['team-a', 'signed'], headers: { ...standard(key), 'webhook-timestamp': '1700000001' } },
    [401],
  ],
  ['of GitLab with a signing token that is none', { headers: standard(Buffer.from('it is a secret')) }, [401]],
  ['of GitLab with an empty signing token', { path: ['team-a', 'keyless'], headers: standard(Buffer.alloc(0)) }, [401]],
  ['without a signature', {}, [401]],
  ['signed with another secret', { headers: github(sign('guessed')) }, [401]],
  ['with the signature of another body', { headers: github(sign('it is a secret', Buffer.from('{}'))) }, [401]],
  [
    'with the SHA-1 signature of GitHub',
    { headers: { 'x-hub-signature': 'sha1=2fd4e1c67a2d28fced849ee1bb76e7391b93eb12' } },
    [401],
  ],
  ['with another token', { headers: { 'x-gitlab-token': 'it is a secre' } }, [401]],
  [
    'with a wrong token beside a right signature',
    { headers: { ...github(sign('it is a secret')), 'x-gitlab-token': '' } },
    [401],
  ],
  ['for an unknown repository', { path: ['team-a', 'none'], headers: github(sign('it is a secret')) }, [401]],
  ['for a repository without a Secret', { path: ['team-a', 'open'], headers: github(sign('')) }, [401]],
  ['for a Secret with an empty webhook-secret', { path: ['team-a', 'empty'], headers: github(sign('')) }, [401]],
  ['for a Secret without a webhook-secret', { path: ['team-a', 'other'], headers: github(sign('undefined')) }, [401]],
  ['by another method', { method: 'GET', headers: github(sign('it is a secret')) }, [undefined]],
  [
    'below the repository',
    { path: ['team-a', 'blueprints', 'x'], headers: github(sign('it is a secret')) },
    [undefined],
  ],
])('answers a webhook %s', async (_, request, expected) => {
  expect(await deliver(request)).toEqual(expected)
})

test('a process that stands by reads nothing and asks for another delivery', async () => {
  expect(await deliver({ headers: github(sign('it is a secret')) }, { leads: () => false })).toEqual([503])
})

test('callers without a signature cost one read of a Secret at a time', async () => {
  let reads = 0
  const secret = Promise.withResolvers<string>()
  const route = signedWebhookRoute({
    leads: () => true,
    repository: () => repository('hook'),
    webhookSecret: () => {
      reads++
      return secret.promise
    },
    sync: () => {},
  })
  const request: SignedRequest = { method: 'POST', path: ['team-a', 'blueprints'], headers: {}, body }
  const deliveries = Array.from({ length: 5 }, () => route.handle(request).catch((error: StatusError) => error.code))
  secret.resolve('it is a secret')
  expect([await Promise.all(deliveries), reads]).toEqual([[401, 401, 401, 401, 401], 1])
})
