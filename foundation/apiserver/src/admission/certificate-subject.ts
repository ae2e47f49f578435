// The plugin CertificateSubjectRestriction: refuses requests for client certificates of the group that no authorizer
// checks.
import { forbidden } from '@fairlead/kube'
import { requestedOrganizations } from '@fairlead/controller'
import { mastersGroup } from '../identity/well-known-users.ts'
import type { AdmissionPlugin } from './plugin.ts'

const clientSigner = 'kubernetes.io/kube-apiserver-client'

/** Returns the plugin; its messages are those of the real server. */
export function certificateSubjectPlugin(): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    async validate({ operation, resource, subresource, name, object }) {
      const { group, plural } = resource.definition
      if (operation !== 'CREATE' || subresource !== '' || group !== 'certificates.k8s.io') return
      if (plural !== 'certificatesigningrequests') return
      const { signerName, request } = (object?.['spec'] ?? {}) as { signerName?: string; request?: string }
      if (signerName !== clientSigner) return
      let organizations: readonly string[]
      try {
        organizations = await requestedOrganizations(Buffer.from(request ?? '', 'base64').toString())
      } catch (error) {
        throw forbidden(resource.definition, name, `failed to parse CSR: ${(error as Error).message}`)
      }
      if (!organizations.includes(mastersGroup)) return
      throw forbidden(
        resource.definition,
        name,
        `use of ${clientSigner} signer with ${mastersGroup} group is not allowed`,
      )
    },
  }
}
