// What is decided without a server knows the kinds as a server does.
import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { wellKnownKinds } from '../src/offline/well-known-kinds.ts'

interface ResourceList {
  readonly resources: readonly {
    readonly name: string
    readonly kind: string
    readonly namespaced: boolean
    readonly verbs: readonly string[]
  }[]
}

test('every well-known kind is what the API server says, and no kind of those versions that can be watched is missing', async () => {
  await using server = await ApiServer.start()
  const client = server.client()
  for (const apiVersion of new Set(wellKnownKinds.map((known) => known.apiVersion))) {
    const path = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
    const { resources } = (await client.send({ method: 'GET', path })) as unknown as ResourceList
    const served = resources
      .filter(({ name, verbs }) => !name.includes('/') && verbs.includes('watch'))
      .map(({ name, kind, namespaced }) => ({ plural: name, kind, namespaced }))
    const known = wellKnownKinds
      .filter((one) => one.apiVersion === apiVersion)
      .map(({ plural, kind, namespaced }) => ({ plural, kind, namespaced }))
    const byPlural = (left: { plural: string }, right: { plural: string }): number =>
      left.plural < right.plural ? -1 : 1
    expect({ apiVersion, kinds: known.toSorted(byPlural) }).toEqual({ apiVersion, kinds: served.toSorted(byPlural) })
  }
})
