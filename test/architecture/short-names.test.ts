// Short names of the capabilities' resources: kubectl takes a name from the first group that has it.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtinResources } from '@fairlead/builtin-kinds'
import { parseYamlDocuments } from '@fairlead/kube'
import { root } from './sources.ts'

interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string; readonly shortNames?: readonly string[] }
  }
}

test('no short name of a capability is a name of another resource, as of one of Kubernetes', () => {
  const resources = new Map(
    builtinResources().flatMap(({ plural, singular, shortNames, group }) =>
      [plural, singular, ...shortNames].map((name) => [name, `${plural}.${group}`]),
    ),
  )
  const collisions: string[] = []
  for (const file of globSync('capabilities/*/crds/*.yaml', { cwd: root })) {
    const { group, names } = (parseYamlDocuments(readFileSync(join(root, file), 'utf8'))[0] as unknown as Definition)
      .spec
    const resource = `${names.plural}.${group}`
    for (const name of names.shortNames ?? []) {
      const other = resources.get(name)
      if (other !== undefined && other !== resource) collisions.push(`${name}: ${other}, ${resource}`)
      resources.set(name, resource)
    }
  }
  expect(collisions).toEqual([])
})
