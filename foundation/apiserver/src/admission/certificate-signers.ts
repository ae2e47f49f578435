// The links of the admission chain that guard certificates: who may approve and sign for a signer, and whom a client
// certificate may name (plugins CertificateApproval and CertificateSigning).
import { forbidden, goQuote } from '@fairlead/kube'
import type { KubeObject, UserInfo } from '@fairlead/kube'
import type { AdmissionPlugin } from './plugin.ts'
import type { Authorizer } from '../identity/authorizer.ts'

/** Refuses approvals and certificates of those who may not `approve` or `sign` for the signer that a request names. */
export function certificateSignersPlugin(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'certificate-signers',
    validate({ operation, resource, subresource, name, object, oldObject, user }) {
      const { group, plural } = resource.definition
      if (operation !== 'UPDATE' || group !== 'certificates.k8s.io' || plural !== 'certificatesigningrequests') return
      const verb = verbOf(subresource, object, oldObject)
      if (verb === undefined || oldObject === undefined) return
      const signer = (oldObject['spec'] as { readonly signerName?: string }).signerName ?? ''
      if (mayActFor(authorizer, user, verb, signer)) return
      throw forbidden(
        resource.definition,
        name,
        `user not permitted to ${verb} requests with signerName ${goQuote(signer)}`,
      )
    },
  }
}

function verbOf(subresource: string, object: KubeObject | undefined, old: KubeObject | undefined): string | undefined {
  if (subresource === 'approval') return 'approve'
  if (subresource !== 'status' || object === undefined || old === undefined) return undefined
  return certificateOf(object) === certificateOf(old) ? undefined : 'sign'
}

function certificateOf({ status }: KubeObject): string {
  return (status as { readonly certificate?: string } | undefined)?.certificate ?? ''
}

/** The signer itself, or all of its domain. */
function mayActFor(authorizer: Authorizer, user: UserInfo, verb: string, signer: string): boolean {
  const base = { user, verb, group: 'certificates.k8s.io', version: '*', resource: 'signers' }
  for (const name of [signer, `${signer.split('/')[0]}/*`])
    if (authorizer.authorize({ ...base, name }).allowed) return true
  return false
}
