// Certificates and the kubeconfig that contains them.
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock, parseYaml } from '@fairlead/kube'
import { systemClock } from '@fairlead/client'
import {
  adminCertificate,
  kubeconfigText,
  loadCertificates,
  makeCertificates,
  tokenKey,
  writeKubeconfig,
} from '@fairlead/apiserver'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-pki-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test('certificates are for server and administrator, signed by one authority', async () => {
  const { ca, server } = await makeCertificates({
    clock: systemClock,
    hosts: ['fairlead.example.com', '10.1.2.3'],
  })
  const admin = await adminCertificate(ca, { clock: systemClock })
  const [authority, serving, owner] = [ca, server, admin].map(({ cert }) => new X509Certificate(cert)) as [
    X509Certificate,
    X509Certificate,
    X509Certificate,
  ]
  expect([authority.ca, serving.ca, serving.verify(authority.publicKey), owner.verify(authority.publicKey)]).toEqual([
    true,
    false,
    true,
    true,
  ])
  expect([serving.checkIssued(authority), owner.checkIssued(authority)]).toEqual([true, true])
  expect(serving.subjectAltName?.split(', ').toSorted()).toEqual([
    'DNS:fairlead.example.com',
    'DNS:kubernetes',
    'DNS:kubernetes.default',
    'DNS:kubernetes.default.svc',
    'DNS:kubernetes.default.svc.cluster.local',
    'DNS:localhost',
    'IP Address:0:0:0:0:0:0:0:1',
    'IP Address:10.1.2.3',
    'IP Address:127.0.0.1',
  ])
  expect([serving.keyUsage, owner.keyUsage]).toEqual([['1.3.6.1.5.5.7.3.1'], ['1.3.6.1.5.5.7.3.2']])
  expect(owner.subject.split('\n').toSorted()).toEqual(['CN=kubernetes-admin', 'O=system:masters'])
  expect(serving.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
  // In PKCS#1, as kubeadm writes it: fabric8 takes PKCS#8 and PKCS#1, and only RSA keys without a further setting.
  expect(owner.publicKey.asymmetricKeyDetails).toMatchObject({ modulusLength: 2048 })
  expect(admin.key).toMatch(/^-----BEGIN RSA PRIVATE KEY-----/)
})

test('certificates are created once and stored readable by their owner only', async () => {
  const first = await loadCertificates(folder, { clock: systemClock })
  expect(await loadCertificates(folder, { clock: systemClock })).toEqual(first)
  const admin = await adminCertificate(first.ca, { clock: systemClock }, folder)
  expect(await adminCertificate(first.ca, { clock: systemClock }, folder)).toEqual(admin)
  const names = (await readdir(folder)).toSorted()
  expect(names).toEqual(['admin.crt', 'admin.key', 'ca.crt', 'ca.key', 'server.crt', 'server.key'])
  for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
})

test('certificates are renewed when a host or a file is missing or they expire; the authority stays', async () => {
  const clock = new FakeClock('2026-01-01T00:00:00Z')
  const first = await loadCertificates(folder, { clock })
  const withHost = await loadCertificates(folder, { clock, hosts: ['other'] })
  expect(withHost).toEqual({ ...first, server: withHost.server })
  expect(withHost.server).not.toEqual(first.server)
  const admin = await adminCertificate(first.ca, { clock }, folder)
  await unlink(join(folder, 'admin.key'))
  const renewed = await adminCertificate(first.ca, { clock }, folder)
  expect(renewed.cert).not.toBe(admin.cert)
  await clock.advance(3_640 * 24 * 60 * 60_000)
  const later = await loadCertificates(folder, { clock, hosts: ['other'] })
  expect(new X509Certificate(later.server.cert).verify(new X509Certificate(later.ca.cert).publicKey)).toBe(true)
  const lastAdmin = await adminCertificate(later.ca, { clock }, folder)
  expect(Date.parse(new X509Certificate(lastAdmin.cert).validTo)).toBeGreaterThan(clock.now())
})

test('certificates are renewed when key and certificate do not match', async () => {
  const { ca, server } = await loadCertificates(folder, { clock: systemClock })
  const { server: other } = await makeCertificates({ clock: systemClock })
  await writeFile(join(folder, 'server.key'), other.key)
  const renewed = await loadCertificates(folder, { clock: systemClock })
  expect(renewed.ca).toEqual(ca)
  expect(new X509Certificate(renewed.server.cert).checkPrivateKey(createPrivateKey(renewed.server.key))).toBe(true)
  expect(renewed.server.cert).not.toBe(server.cert)
})

test('the certificate of the administrator is renewed when its key is not RSA or another authority signed it', async () => {
  const { ca, server } = await makeCertificates({ clock: systemClock })
  // As earlier versions wrote it.
  await writeFile(join(folder, 'admin.key'), server.key)
  await writeFile(join(folder, 'admin.crt'), server.cert)
  const admin = await adminCertificate(ca, { clock: systemClock }, folder)
  expect(createPrivateKey(admin.key).asymmetricKeyType).toBe('rsa')
  const { ca: other } = await makeCertificates({ clock: systemClock })
  const foreign = await adminCertificate(other, { clock: systemClock }, folder)
  expect(new X509Certificate(foreign.cert).verify(new X509Certificate(other.cert).publicKey)).toBe(true)
})

test('certificates are not written before the folder is locked, and those of its previous holder are used', async () => {
  const held = Promise.withResolvers<void>()
  const waiting = loadCertificates(folder, { clock: systemClock }, held.promise)
  const first = await loadCertificates(folder, { clock: systemClock })
  held.resolve()
  expect(await waiting).toEqual(first)
  const refused = loadCertificates(join(folder, 'locked'), { clock: systemClock }, Promise.reject(new Error('in use')))
  await expect(refused).rejects.toThrow('in use')
  await expect(readdir(join(folder, 'locked'))).rejects.toThrow('ENOENT')
})

test('certificates are embedded in the kubeconfig, which only its owner can read', async () => {
  const path = join(folder, 'made', 'kubeconfig')
  const certificate = { cert: 'CERT', key: 'KEY' }
  await writeKubeconfig(path, {
    name: 'fairlead',
    server: 'https://127.0.0.1:1',
    ca: 'CA',
    user: { name: 'admin', certificate },
    namespace: 'default',
  })
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(parseYaml(await readFile(path, 'utf8'))).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'fairlead', cluster: { server: 'https://127.0.0.1:1', 'certificate-authority-data': 'Q0E=' } }],
    users: [{ name: 'admin', user: { 'client-certificate-data': 'Q0VSVA==', 'client-key-data': 'S0VZ' } }],
    contexts: [{ name: 'fairlead', context: { cluster: 'fairlead', user: 'admin', namespace: 'default' } }],
    'current-context': 'fairlead',
  })
  expect(kubeconfigText({ name: 'x', server: 's', ca: 'CA', user: { name: 'u', token: 't' } })).toContain('token: t')
})

test('the signing key of tokens is created once', async () => {
  const kept = await tokenKey(folder)
  expect(kept.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
  expect((await tokenKey(folder)).equals(kept)).toBe(true)
  expect((await tokenKey(undefined)).equals(kept)).toBe(false)
  expect((await stat(join(folder, 'service-accounts.key'))).mode & 0o777).toBe(0o600)
})

test('certificates from a time when the clock was ahead are made anew', async () => {
  const now = new FakeClock()
  const ahead = new FakeClock(now.now() + 2 * 24 * 60 * 60_000)
  const early = await loadCertificates(folder, { clock: ahead })
  const again = await loadCertificates(folder, { clock: now })
  expect([again.ca.cert === early.ca.cert, again.server.cert === early.server.cert]).toEqual([false, false])
  expect(Date.parse(new X509Certificate(again.server.cert).validFrom)).toBeLessThanOrEqual(now.now())
  expect(await loadCertificates(folder, { clock: now })).toEqual(again)
})
