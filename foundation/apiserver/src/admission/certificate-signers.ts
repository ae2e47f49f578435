// The plugin that guards certificates: users need the right to approve and to sign for a signer (plugins
// CertificateApproval and CertificateSigning).
import { forbidden, goQuote } from '@fairlead/kube'
import type { KubeObject, UserInfo } from '@fairlead/kube'
import type { AdmissionPlugin } from './plugin.ts'
import type { Authorizer } from '../identity/authorizer.ts'

/**
 * Returns the plugin; it refuses approvals and certificates of users without the right to `approve` or `sign` for the
 * signer of a request.
 */
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

/** Checks the right for the signer itself, or for all of its domain. */
function mayActFor(authorizer: Authorizer, user: UserInfo, verb: string, signer: string): boolean {
  const base = { user, verb, group: 'certificates.k8s.io', version: '*', resource: 'signers' }
  for (const name of [signer, `${signer.split('/')[0]}/*`])
    if (authorizer.authorize({ ...base, name }).allowed) return true
  return false
}
