// Publishes the Service `kubernetes` in `default`, through which clients in a cluster find the API server, and the
// ServiceCIDR of the same name, from which Services get their addresses. Written when a port opens, like the real
// server's.
import { isIPv4 } from 'node:net'
import { serviceRange } from '@fairlead/builtin-kinds'
import { Service, kind } from '@fairlead/client'
import type { Client, KindLike } from '@fairlead/client'
import { formatTime, isAlreadyExists, isNotFound } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'

const name = 'kubernetes'
const namespace = 'default'
const clusterIP = '10.0.0.1'
const servicePort = 443

const Endpoints = kind('v1', 'Endpoints')
const EndpointSlice = kind('discovery.k8s.io/v1', 'EndpointSlice')
const ServiceCIDR = kind('networking.k8s.io/v1', 'ServiceCIDR')

/**
 * Points the Service to an open port, and creates the ServiceCIDR at `now`, milliseconds since the epoch, unless there
 * is one. The endpoints of the Service are written only for a reachable IPv4 address: endpoints may not have loopback
 * addresses. Needs a client with all permissions.
 */
export async function publishService(
  client: Client,
  address: { readonly host: string; readonly port: number },
  now: number,
): Promise<void> {
  const { host, port } = address
  await publishRange(client, now)
  await write(client, Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: { clusterIP, ports: [{ name: 'https', port: servicePort, protocol: 'TCP', targetPort: port }] },
  })
  if (!isIPv4(host) || host.startsWith('127.') || host === '0.0.0.0') return
  await write(client, Endpoints, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name, namespace, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: host }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  })
  await write(client, EndpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [host], conditions: { ready: true } }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  })
}

async function publishRange(client: Client, now: number): Promise<void> {
  const message = 'Kubernetes default Service CIDR is ready'
  const ready = { type: 'Ready', status: 'True', reason: '', message, lastTransitionTime: formatTime(now) }
  try {
    await client.create({
      apiVersion: ServiceCIDR.apiVersion,
      kind: ServiceCIDR.kind,
      metadata: { name },
      spec: { cidrs: [serviceRange] },
      status: { conditions: [ready] },
    })
  } catch (error) {
    // Created when an earlier port opened, or kept in the data folder.
    if (!isAlreadyExists(error)) throw error
  }
}

/** Updates the object of an earlier port, or creates it. */
async function write(client: Client, target: KindLike<KubeObject>, object: KubeObject): Promise<void> {
  const { metadata: _, ...content } = object
  try {
    await client.patch(target, `${namespace}/${name}`, { merge: content as JsonObject })
  } catch (error) {
    if (!isNotFound(error)) throw error
    await client.create(object)
  }
}
