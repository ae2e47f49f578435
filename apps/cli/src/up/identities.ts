// Each capability runs as its own service account with the rules that it declares, and with those that users grant it
// by label (design decision 13).
import type { Client } from '@fairlead/client'
import type { Capability } from '@fairlead/controller'
import { isAlreadyExists } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { capabilityRoles } from '../install/capability-roles.ts'

/** Namespace of the controllers' service accounts. */
export const systemNamespace = 'fairlead-system'

const manager = 'fairlead-up'

/** Returns the name of the service account and of the roles of a capability. */
export function accountName(capability: { readonly name: string }): string {
  return `fairlead-${capability.name}`
}

/** Returns the objects of a capability's identity: its service account, roles and bindings. */
export function identityOf(capability: Capability): KubeObject[] {
  const name = accountName(capability)
  const labels = {
    'app.kubernetes.io/name': 'fairlead',
    'app.kubernetes.io/component': capability.name,
    'app.kubernetes.io/managed-by': manager,
  }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: systemNamespace, labels } },
    ...capabilityRoles(capability, { name, labels, subject: { name, namespace: systemNamespace } }),
  ]
}

/** Applies the identities of all capabilities. */
export async function installIdentities(admin: Client, capabilities: readonly Capability[]): Promise<void> {
  await admin
    .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: systemNamespace } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
  const objects = capabilities.flatMap(identityOf)
  await Promise.all(objects.map((object) => admin.apply(object, { manager, force: true })))
}
