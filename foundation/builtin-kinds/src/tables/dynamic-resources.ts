// resource.k8s.io (dynamic resource allocation): served as discovery lists it, without schemas, hence free-form and
// without protobuf.
import type { ResourceRow } from './builtin-tables.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/** groupVersion -> resources that have no schemas in the tables. */
export const dynamicResourceRows: Readonly<Record<string, readonly ResourceRow[]>> = {
  'resource.k8s.io/v1': [
    { plural: 'deviceclasses', singular: 'deviceclass', kind: 'DeviceClass', namespaced: false, verbs },
    {
      plural: 'resourceclaims',
      singular: 'resourceclaim',
      kind: 'ResourceClaim',
      namespaced: true,
      verbs,
      subresources: [{ name: 'status', kind: 'ResourceClaim', verbs: ['get', 'patch', 'update'] }],
    },
    {
      plural: 'resourceclaimtemplates',
      singular: 'resourceclaimtemplate',
      kind: 'ResourceClaimTemplate',
      namespaced: true,
      verbs,
    },
    { plural: 'resourceslices', singular: 'resourceslice', kind: 'ResourceSlice', namespaced: false, verbs },
  ],
}
