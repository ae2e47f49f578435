// Edits of resources in files.
import { expect, test } from 'vitest'
import { editResources, resourcesIn } from '@fairlead/packages'

const file = `# licence
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a # kept
data:
  k: "1"
---
apiVersion: v1
kind: ConfigMap
metadata:
    name: b
data: {x:   y}
`

test('an edit changes one resource and leaves the other documents as they are', () => {
  const edited = editResources('a.yaml', file, (resource) => {
    if ((resource.object['metadata'] as { name: string }).name !== 'a') return
    resource.set(['data', 'k'], '2')
    resource.set(['metadata', 'annotations', 'x'], 'z')
  })
  expect(edited).toBe(`# licence
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a # kept
  annotations:
    x: z
data:
  k: "2"
---
apiVersion: v1
kind: ConfigMap
metadata:
    name: b
data: {x:   y}
`)
})

test('an edit that sets what is there returns the same string', () => {
  const edited = editResources('a.yaml', file, (resource) => {
    resource.set(['kind'], 'ConfigMap')
    resource.remove(['data', 'absent'])
    resource.removeItems(['absent'], () => true)
    resource.insertItems(['absent'], [])
  })
  expect(edited).toBe(file)
})

test('items of lists are removed, replaced and inserted with the comments of the others', () => {
  const before = `kind: Kptfile
pipeline:
  mutators:
    - image: old
    # of the user
    - image: own # tail
`
  const edited = editResources('Kptfile', before, (resource) => {
    resource.removeItems(['pipeline', 'mutators'], (item) => (item as { image: string }).image === 'old')
    resource.insertItems(['pipeline', 'mutators'], [{ image: 'new' }], 0)
    resource.insertItems(['info', 'readinessGates'], [{ conditionType: 'a' }])
    resource.setItem(['info', 'readinessGates'], 0, { conditionType: 'b' })
  })
  expect(resourcesIn('Kptfile', edited)).toEqual([
    {
      kind: 'Kptfile',
      pipeline: { mutators: [{ image: 'new' }, { image: 'own' }] },
      info: { readinessGates: [{ conditionType: 'b' }] },
    },
  ])
  expect(edited).toContain('    # of the user\n    - image: own # tail\n')
})

test('a list and its map disappear with their last item', () => {
  const before = 'kind: Kptfile\npipeline:\n  mutators:\n    - image: old\n'
  expect(
    editResources('Kptfile', before, (resource) => resource.removeItems(['pipeline', 'mutators'], () => true)),
  ).toBe('kind: Kptfile\n')
})

test('a resource in JSON stays JSON', () => {
  const edited = editResources('a.json', '{"kind": "A"}', (resource) => resource.set(['data'], { a: 1 }))
  expect(JSON.parse(edited)).toEqual({ kind: 'A', data: { a: 1 } })
})
