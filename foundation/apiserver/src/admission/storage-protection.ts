// The admission plugin StorageObjectInUseProtection: new volumes, claims and attribute classes have a finalizer, which
// the controllers of controllers/storage-protection.ts remove once nothing uses them.
import { asJson } from '@fairlead/kube'
import type { AdmissionPlugin } from './plugin.ts'

/** The finalizer of each protected resource. */
export const protectionFinalizers: Readonly<Record<string, string>> = {
  'persistentvolumeclaims.': 'kubernetes.io/pvc-protection',
  'persistentvolumes.': 'kubernetes.io/pv-protection',
  'volumeattributesclasses.storage.k8s.io': 'kubernetes.io/vac-protection',
}

/** Returns the plugin. */
export function storageProtectionPlugin(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    mutate({ operation, resource: { definition }, subresource, object }) {
      const finalizer = protectionFinalizers[`${definition.plural}.${definition.group}`]
      if (operation !== 'CREATE' || subresource !== '' || finalizer === undefined || object === undefined)
        return undefined
      const finalizers = object.metadata.finalizers ?? []
      if (finalizers.includes(finalizer)) return undefined
      return asJson({ ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } })
    },
  }
}
