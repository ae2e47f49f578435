import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { Service } from '@fairlead/client'

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
