// Defaults of a pod's spec, alone or in a template (pkg/apis/core/v1/defaults.go, v1.35).
import type { MutableJsonObject } from '@fairlead/kube'
import { draftAt, draftsAt, fill, fillStrings, has, stringAt } from '../fields.ts'

/** Sets the defaults of a PodSpec in place. Idempotent. */
export function defaultPodSpec(spec: MutableJsonObject): void {
  fillStrings(spec, { dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', schedulerName: 'default-scheduler' })
  fill(spec, { securityContext: {}, terminationGracePeriodSeconds: 30 })
  syncServiceAccount(spec)
  for (const container of containersOf(spec)) defaultContainer(container)
  for (const volume of draftsAt(spec, 'volumes')) defaultVolume(volume)
}

/** Sets the defaults of a workload's template in place. */
export function defaultPodTemplate(owner: MutableJsonObject | undefined): void {
  const spec = draftAt(owner, 'template', 'spec')
  if (spec !== undefined) defaultPodSpec(spec)
}

/** Returns all containers of a PodSpec. */
export function containersOf(spec: MutableJsonObject): readonly MutableJsonObject[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) => draftsAt(spec, field))
}

/**
 * Sets `serviceAccount`, the deprecated alias of `serviceAccountName`, to the same value; `serviceAccountName` takes
 * precedence.
 */
function syncServiceAccount(spec: MutableJsonObject): void {
  const name = spec['serviceAccountName'] ?? spec['serviceAccount']
  if (name === undefined || name === null || name === '') return
  spec['serviceAccountName'] = name
  spec['serviceAccount'] = name
}

function defaultContainer(container: MutableJsonObject): void {
  fillStrings(container, {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: isLatest(stringAt(container, 'image')) ? 'Always' : 'IfNotPresent',
  })
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(draftAt(container, probe))
  for (const hook of ['postStart', 'preStop']) defaultHttpGet(draftAt(container, 'lifecycle', hook, 'httpGet'))
  for (const port of draftsAt(container, 'ports')) fillStrings(port, { protocol: 'TCP' })
  for (const variable of draftsAt(container, 'env'))
    fillStrings(draftAt(variable, 'valueFrom', 'fieldRef'), { apiVersion: 'v1' })
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
  fillStrings(action, { path: '/', scheme: 'HTTP' })
}

// The grammar of image references (github.com/distribution/reference).
const domain = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\\d+)?'
const component = '[a-z0-9]+(?:(?:\\.|__?|-+)[a-z0-9]+)*'
const tagAndDigest = '(?::\\w[\\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?'
const imageReference = new RegExp(`^(?:${domain}/)?${component}(?:/${component})*${tagAndDigest}$`)

/** Reports whether an image has the tag `latest`, also for want of another; what is no image reference has no tag. */
/** Longer names are not valid, and have no tag. */
const longestImageName = 255

function isLatest(image: string): boolean {
  if (!imageReference.test(image)) return false
  const [name = '', digest] = image.split('@')
  if (name.replace(/:[^/:]+$/, '').length > longestImageName) return false
  const tag = /:([^/:]+)$/.exec(name)?.[1]
  return tag === undefined ? digest === undefined : tag === 'latest'
}

const defaultMode = 0o644

/** Sets the defaults of the sources that volumes of pods and PersistentVolumes share. */
export function defaultDisk(volume: MutableJsonObject): void {
  fill(draftAt(volume, 'hostPath'), { type: '' })
  fillStrings(draftAt(volume, 'iscsi'), { iscsiInterface: 'default' })
  fillStrings(draftAt(volume, 'rbd'), { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' })
  fill(draftAt(volume, 'azureDisk'), { cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false })
  fillStrings(draftAt(volume, 'scaleIO'), { storageMode: 'ThinProvisioned', fsType: 'xfs' })
}

function defaultVolume(volume: MutableJsonObject): void {
  if (Object.keys(volume).every((field) => field === 'name' || !has(volume, field))) volume['emptyDir'] = {}
  for (const source of ['secret', 'configMap', 'downwardAPI', 'projected'])
    fill(draftAt(volume, source), { defaultMode })
  defaultDisk(volume)
  fill(draftAt(volume, 'ephemeral', 'volumeClaimTemplate', 'spec'), { volumeMode: 'Filesystem' })
  const image = draftAt(volume, 'image')
  fillStrings(image, { pullPolicy: isLatest(stringAt(image, 'reference')) ? 'Always' : 'IfNotPresent' })
  for (const item of draftsAt(volume, 'downwardAPI', 'items'))
    fillStrings(draftAt(item, 'fieldRef'), { apiVersion: 'v1' })
  for (const source of draftsAt(volume, 'projected', 'sources')) {
    fill(draftAt(source, 'serviceAccountToken'), { expirationSeconds: 3600 })
    for (const item of draftsAt(source, 'downwardAPI', 'items'))
      fillStrings(draftAt(item, 'fieldRef'), { apiVersion: 'v1' })
  }
}
