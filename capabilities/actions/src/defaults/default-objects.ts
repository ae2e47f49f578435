// Default objects of a cluster: the default mapping of the design, and action maps for well-known kinds.
import type { KubeObject } from '@fairlead/kube'
import { apiVersion } from '../api.ts'
import { mapTypeLabel } from '../engine/maps/action-map.ts'
import { runAsAnnotation } from '../engine/runs/run-record.ts'
import { configName, kappnavNamespace } from '../engine/runs/settings.ts'
import { commandAccount, commandIdentity } from './command-identity.ts'
import { defaultMaps } from './default-maps.ts'
import { delegationRoles } from './roles.ts'

/** Returns the rules of the naming convention for a wildcard apiVersion: group kinds or kinds of the core group. */
function conventions(wildcard: string): readonly Readonly<Record<string, string>>[] {
  return [
    {
      apiVersion: wildcard,
      name: '*',
      subkind: '*',
      kind: '*',
      mapname: '${namespace}.actions.${kind}-${subkind}.${name}',
    },
    { apiVersion: wildcard, subkind: '*', kind: '*', mapname: 'kappnav.actions.${kind}-${subkind}' },
    { apiVersion: wildcard, name: '*', kind: '*', mapname: '${namespace}.actions.${kind}.${name}' },
    { apiVersion: wildcard, kind: '*', mapname: 'kappnav.actions.${kind}' },
  ]
}

/** The default mapping: the seed's four rules, and the same rules for the core group. */
export const defaultMapping: KubeObject = {
  apiVersion,
  kind: 'KindActionMapping',
  metadata: { name: 'default', namespace: kappnavNamespace },
  spec: {
    precedence: 1,
    mappings: [...conventions('*/*'), ...conventions('*')],
    statusMappings: ['*', '*/*'].map((version) => ({
      apiVersion: version,
      kind: '*',
      mapname: 'kappnav.status-mapping.${kind}',
    })),
    sectionMappings: ['*', '*/*'].map((version) => ({
      apiVersion: version,
      kind: '*',
      mapname: 'kappnav.sections.${kind}',
    })),
  },
}

/** The default objects, in the order of their creation. */
export const defaults: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: kappnavNamespace } },
  defaultMapping,
  map('builtin', 'builtin', {}),
  ...defaultMaps.map(({ kind, data, runAs }) =>
    map(`kappnav.actions.${kind}`, 'action', data, runAs === undefined ? {} : { [runAsAnnotation]: runAs }),
  ),
  map(configName, 'config', { 'kappnav-sa-name': commandAccount }),
  ...commandIdentity,
  ...delegationRoles,
  map('kappnav.status-mapping-unregistered', 'status', {
    exists: JSON.stringify({ value: 'Unknown', flyover: 'No status map for this kind' }),
  }),
]

function map(
  name: string,
  type: string,
  data: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>> = {},
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: kappnavNamespace, labels: { [mapTypeLabel]: type }, annotations },
    // An empty object is a field as well, and would conflict with the keys of others.
    ...(Object.keys(data).length === 0 ? {} : { data }),
  }
}
