// What the API server fills into a pod's spec, alone or in a template (pkg/apis/core/v1/defaults.go, v1.35).
import type { MutableJsonObject } from '@fairlead/kube'
import { draftAt, draftsAt, fill, fillText, has, stringAt } from '../fields.ts'

/** Fills a PodSpec in place. Idempotent. */
export function defaultPodSpec(spec: MutableJsonObject): void {
  fillText(spec, { dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', schedulerName: 'default-scheduler' })
  fill(spec, { securityContext: {}, terminationGracePeriodSeconds: 30 })
  syncServiceAccount(spec)
  for (const container of containersOf(spec)) defaultContainer(container)
  for (const volume of draftsAt(spec, 'volumes')) defaultVolume(volume)
}

/** Fills the template of a workload: its spec, with what only templates have left alone. */
export function defaultPodTemplate(owner: MutableJsonObject | undefined): void {
  const spec = draftAt(owner, 'template', 'spec')
  if (spec !== undefined) defaultPodSpec(spec)
}

/** All containers of a PodSpec. */
export function containersOf(spec: MutableJsonObject): readonly MutableJsonObject[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) => draftsAt(spec, field))
}

/** `serviceAccount` is the old name of `serviceAccountName`; both are served, the new one wins. */
function syncServiceAccount(spec: MutableJsonObject): void {
  const name = spec['serviceAccountName'] ?? spec['serviceAccount']
  if (name === undefined || name === null || name === '') return
  spec['serviceAccountName'] = name
  spec['serviceAccount'] = name
}

function defaultContainer(container: MutableJsonObject): void {
  fillText(container, {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: isLatest(stringAt(container, 'image')) ? 'Always' : 'IfNotPresent',
  })
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(draftAt(container, probe))
  dropStopSignal(container)
  for (const hook of ['postStart', 'preStop']) defaultHttpGet(draftAt(container, 'lifecycle', hook, 'httpGet'))
  for (const port of draftsAt(container, 'ports')) fillText(port, { protocol: 'TCP' })
  for (const variable of draftsAt(container, 'env'))
    fillText(draftAt(variable, 'valueFrom', 'fieldRef'), { apiVersion: 'v1' })
}

/** Behind a feature gate that is off in 1.35: the server forgets it. */
function dropStopSignal(container: MutableJsonObject): void {
  const lifecycle = draftAt(container, 'lifecycle')
  if (lifecycle === undefined || !has(lifecycle, 'stopSignal')) return
  delete lifecycle['stopSignal']
  if (Object.keys(lifecycle).length === 0) delete container['lifecycle']
}

function defaultProbe(probe: MutableJsonObject | undefined): void {
  if (probe === undefined) return
  for (const [field, value] of [
    ['timeoutSeconds', 1],
    ['periodSeconds', 10],
    ['successThreshold', 1],
    ['failureThreshold', 3],
  ] as const) {
    probe[field] = probe[field] === 0 ? value : (probe[field] ?? value)
  }
  defaultHttpGet(draftAt(probe, 'httpGet'))
  fill(draftAt(probe, 'grpc'), { service: '' })
}

function defaultHttpGet(action: MutableJsonObject | undefined): void {
  fillText(action, { path: '/', scheme: 'HTTP' })
}

/** The tag is `latest`, or there is neither tag nor digest. */
function isLatest(image: string): boolean {
  const [name = '', digest] = image.split('@')
  const tag = /:([^/:]+)$/.exec(name)?.[1]
  return tag === undefined ? digest === undefined : tag === 'latest'
}

const defaultMode = 0o644

function defaultVolume(volume: MutableJsonObject): void {
  if (Object.keys(volume).every((field) => field === 'name' || !has(volume, field))) volume['emptyDir'] = {}
  for (const source of ['secret', 'configMap', 'downwardAPI', 'projected'])
    fill(draftAt(volume, source), { defaultMode })
  fill(draftAt(volume, 'hostPath'), { type: '' })
  fillText(draftAt(volume, 'iscsi'), { iscsiInterface: 'default' })
  fillText(draftAt(volume, 'rbd'), { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' })
  fill(draftAt(volume, 'azureDisk'), { cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false })
  fillText(draftAt(volume, 'scaleIO'), { storageMode: 'ThinProvisioned', fsType: 'xfs' })
  fill(draftAt(volume, 'ephemeral', 'volumeClaimTemplate', 'spec'), { volumeMode: 'Filesystem' })
  const image = draftAt(volume, 'image')
  fillText(image, { pullPolicy: isLatest(stringAt(image, 'reference')) ? 'Always' : 'IfNotPresent' })
  for (const item of draftsAt(volume, 'downwardAPI', 'items')) fillText(draftAt(item, 'fieldRef'), { apiVersion: 'v1' })
  for (const source of draftsAt(volume, 'projected', 'sources')) {
    fill(draftAt(source, 'serviceAccountToken'), { expirationSeconds: 3600 })
    for (const item of draftsAt(source, 'downwardAPI', 'items'))
      fillText(draftAt(item, 'fieldRef'), { apiVersion: 'v1' })
  }
}
