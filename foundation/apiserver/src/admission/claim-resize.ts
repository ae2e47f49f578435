// The admission plugin PersistentVolumeClaimResize: claims grow only while they are bound, and only when their class
// lets volumes grow.
import { compareQuantities, parseQuantity } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { refusal } from './attributes.ts'
import type { AdmissionPlugin } from './plugin.ts'

const betaClass = 'volume.beta.kubernetes.io/storage-class'

/** Returns the plugin. `read` returns a stored object, from memory. */
export function claimResizePlugin(read: (resource: string, key: string) => KubeObject | undefined): AdmissionPlugin {
  return {
    name: 'PersistentVolumeClaimResize',
    validate(attributes) {
      const { operation, resource, subresource, object, oldObject } = attributes
      const { group, plural } = resource.definition
      if (operation !== 'UPDATE' || subresource !== '' || group !== '' || plural !== 'persistentvolumeclaims') return
      if (object === undefined || oldObject === undefined) return
      if (compareQuantities(parseQuantity(sizeOf(object)), parseQuantity(sizeOf(oldObject))) <= 0) return
      if ((oldObject['status'] as JsonObject | undefined)?.['phase'] !== 'Bound')
        throw refusal(attributes, 'Only bound persistent volume claims can be expanded')
      const spec = object['spec'] as { readonly storageClassName?: string } | undefined
      const name = object.metadata.annotations?.[betaClass] ?? spec?.storageClassName ?? ''
      const storageClass = name === '' ? undefined : read('storageclasses.storage.k8s.io', name)
      if (storageClass?.['allowVolumeExpansion'] === true) return
      throw refusal(
        attributes,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      )
    },
  }
}

function sizeOf(claim: KubeObject): string {
  const spec = claim['spec'] as { readonly resources?: { readonly requests?: Readonly<Record<string, string>> } }
  return spec?.resources?.requests?.['storage'] ?? '0'
}
