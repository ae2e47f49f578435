import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { Service, kind } from '@fairlead/client'
import { FakeClock } from '@fairlead/kube'

test('Service kubernetes points to the open port, also after the port changes', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const client = server.client()
  const ports = async (): Promise<unknown> => (await client.get(Service, 'default/kubernetes'))['spec']
  const spec = (port: number): unknown =>
    expect.objectContaining({
      clusterIP: '10.0.0.1',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
    })
  const first = await server.listen({ port: 0 })
  expect(await ports()).toEqual(spec(first.port))
  const second = await server.listen({ port: 0 })
  expect(await ports()).toEqual(spec(second.port))
})

test('ServiceCIDR kubernetes holds the range of cluster IPs and is ready, and a later port leaves it as it is', async () => {
  const ServiceCIDR = kind('networking.k8s.io/v1', 'ServiceCIDR', { plural: 'servicecidrs', namespaced: false })
  await using server = await ApiServer.start({ controllers: false, clock: new FakeClock('2026-03-01T00:00:00Z') })
  const client = server.client()
  await server.listen({ port: 0 })
  const range = await client.get(ServiceCIDR, 'kubernetes')
  const ready = { type: 'Ready', status: 'True', message: 'Kubernetes default Service CIDR is ready' }
  expect(range).toMatchObject({
    spec: { cidrs: ['10.0.0.0/24'] },
    status: { conditions: [{ ...ready, reason: '', lastTransitionTime: '2026-03-01T00:00:00Z' }] },
  })
  await server.listen({ port: 0 })
  expect(await client.get(ServiceCIDR, 'kubernetes')).toEqual(range)
})
