// Signs approved requests for client certificates (signer `kubernetes.io/kube-apiserver-client`) with the server's own
// authority. The other signers of Kubernetes are for kubelets, of which there are none.
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { CertificateMaker, readCertificateRequest } from '@fairlead/controller'
import type { KeyPair } from '@fairlead/controller'
import { kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { formatTime, isTerminating } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { controllerManager, enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

interface SigningRequest extends KubeObject {
  readonly spec: {
    readonly signerName: string
    /** PEM, in Base64. */
    readonly request: string
    readonly usages: readonly string[]
    readonly expirationSeconds?: number
  }
  readonly status?: {
    readonly certificate?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const CertificateSigningRequest: Kind<SigningRequest> = kind('certificates.k8s.io/v1', 'CertificateSigningRequest', {
  plural: 'certificatesigningrequests',
  namespaced: false,
})

const signer = 'kubernetes.io/kube-apiserver-client'

/** The lifetime of a certificate whose request has none, and the longest one. */
const lifetime = 365 * 24 * 60 * 60_000
/** Tolerates slow clocks of clients. */
const backdate = 5 * 60_000
/** Certificates that live shorter than this do not end earlier for their earlier beginning. */
const short = 8 * 60 * 60_000

/** Sets up the controller. `authority` returns the certificate authority that the server trusts. */
export function setUpCertificateSigning(
  context: ControllerContext,
  authority: (() => Promise<KeyPair>) | undefined,
): void {
  if (authority === undefined) return
  const { clock } = context.manager
  const loop = context.manager.loop<string>({
    name: 'csrsigning-kube-apiserver-client',
    id: (name) => name,
    manager: controllerManager,
    run: async (name, { client, signal }): Promise<void> => {
      await requests.waitForState(signal)
      const request = requests.lastKnown.get(name)
      if (request === undefined || isTerminating(request) || !isToBeSigned(request)) return
      let certificate: string
      try {
        certificate = await sign(request, await authority(), clock.now())
      } catch (error) {
        return fail(request, (error as Error).message, client, clock.now())
      }
      await writeStatus(request, { certificate: Buffer.from(certificate).toString('base64') }, client)
    },
    logFields: (name) => ({ certificateSigningRequest: name }),
  })
  const requests = enqueueOn(context, loop, CertificateSigningRequest, ({ type, object }) =>
    type === 'removed' ? [] : [object.metadata.name!],
  )
}

function isToBeSigned({ spec, status }: SigningRequest): boolean {
  if (spec.signerName !== signer || (status?.certificate ?? '') !== '') return false
  const isTrue = (wanted: string): boolean =>
    status?.conditions?.some(({ type, status: value }) => type === wanted && value === 'True') ?? false
  return isTrue('Approved') && !isTrue('Denied') && !isTrue('Failed')
}

async function sign({ spec }: SigningRequest, ca: KeyPair, now: number): Promise<string> {
  const request = await readCertificateRequest(Buffer.from(spec.request, 'base64').toString())
  const wanted = spec.usages.filter((usage) => usage !== 'client auth')
  const invalid = wanted.find((usage) => !isClientKeyUsage(usage))
  if (invalid !== undefined) throw new Error(`invalid usage for client certificate: ${invalid}`)
  if (wanted.length === spec.usages.length)
    throw new Error('missing required usage for client certificate: client auth')
  const duration = Math.min((spec.expirationSeconds ?? Infinity) * 1000, lifetime)
  const last = Date.parse(new X509Certificate(ca.cert).validTo)
  const until = Math.min(now + duration - (duration < short ? 0 : backdate), last)
  const maker = await CertificateMaker.start({ from: now - backdate, until })
  return maker.issueFor({ cert: ca.cert, key: createPrivateKey(ca.key) }, request, wanted.filter(isClientKeyUsage))
}

function isClientKeyUsage(usage: string): usage is 'digital signature' | 'key encipherment' {
  return usage === 'digital signature' || usage === 'key encipherment'
}

async function fail(request: SigningRequest, message: string, client: Client, now: number): Promise<void> {
  const reason = 'SignerValidationFailure'
  const failed = { type: 'Failed', status: 'True', reason, message, lastUpdateTime: formatTime(now) }
  await writeStatus(request, { conditions: [...(request.status?.conditions ?? []), failed] }, client)
}

async function writeStatus(request: SigningRequest, change: JsonObject, client: Client): Promise<void> {
  await client.update<KubeObject>({ ...request, status: { ...request.status, ...change } }, { subresource: 'status' })
}
