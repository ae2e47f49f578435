// Random packages and edits for property tests: ConfigMaps and Deployments, changed field by field.
import type { MutableJsonObject } from '@fairlead/kube'
import { stringifyYaml } from '@fairlead/kube'
import type { PackageFiles } from '@fairlead/packages'
import fc from 'fast-check'

/** A ConfigMap with its data, or a Deployment with the images and environment of its containers. */
export interface Resource {
  readonly data: Readonly<Record<string, string>>
  readonly containers?: Readonly<Record<string, Container>>
}

interface Container {
  readonly image: string
  readonly env: Readonly<Record<string, string>>
}

/** A package: resources by name. */
export type Package = Readonly<Record<string, Resource>>

/** Sets or removes one leaf. */
export interface Edit {
  readonly resource: string
  /** `data/<key>`, `image/<container>`, `env/<container>/<name>`, `container/<name>`, `resource`. */
  readonly at: string
  /** Undefined removes. */
  readonly value: string | undefined
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const value = fc.constantFrom('one', 'two', 'three', 'true', '8080', 'with: colon', '- dash', '# hash', '')
const container = fc.record({
  image: fc.constantFrom('app:1', 'app:2', 'side:1'),
  env: fc.dictionary(key, value, { maxKeys: 3 }),
})
const resource: fc.Arbitrary<Resource> = fc.record(
  {
    data: fc.dictionary(key, value, { maxKeys: 4 }),
    containers: fc.dictionary(key, container, { minKeys: 1, maxKeys: 3 }),
  },
  { requiredKeys: ['data'] },
)

/** Packages of up to five resources. */
export const packages: fc.Arbitrary<Package> = fc.dictionary(
  fc.constantFrom('web', 'db', 'cache', 'queue', 'auth'),
  resource,
  { maxKeys: 5 },
)

/** Edits of a package that exists already; some of them change nothing. */
export const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.record({
    resource: fc.constantFrom('web', 'db', 'cache', 'queue', 'auth'),
    at: fc.oneof(
      { weight: 4, arbitrary: key.map((name) => `data/${name}`) },
      { weight: 2, arbitrary: key.map((name) => `image/${name}`) },
      { weight: 2, arbitrary: fc.tuple(key, key).map(([name, variable]) => `env/${name}/${variable}`) },
      { weight: 1, arbitrary: key.map((name) => `container/${name}`) },
      { weight: 1, arbitrary: fc.constant('resource') },
    ),
    value: fc.option(value, { nil: undefined }),
  }),
  { maxLength: 6 },
)

/** Returns the package after the edits. */
export function edited(base: Package, changes: readonly Edit[]): Package {
  const out = structuredClone(base) as Record<
    string,
    { data: Record<string, string>; containers?: Record<string, { image: string; env: Record<string, string> }> }
  >
  for (const { at, resource: name, value: content } of changes) {
    const [what, first, second] = at.split('/') as [string, string, string]
    if (what === 'resource') {
      if (content === undefined) delete out[name]
      else out[name] ??= { data: { added: content } }
      continue
    }
    const one = out[name]
    if (one === undefined) continue
    const { containers } = one
    if (what === 'data') set(one.data, first, content)
    else if (what === 'container' && containers !== undefined) {
      if (content === undefined && Object.keys(containers).length > 1) delete containers[first]
      else containers[first] ??= { image: 'new:1', env: {} }
    } else if (what === 'image' && containers?.[first] !== undefined)
      containers[first].image = `image:${content ?? 'none'}`
    else if (what === 'env' && containers?.[first] !== undefined) set(containers[first].env, second, content)
  }
  return out
}

function set(map: Record<string, string>, name: string, content: string | undefined): void {
  if (content === undefined) delete map[name]
  else map[name] = content
}

/** Returns the files of a package, one for each resource. */
export function filesOf(content: Package): PackageFiles {
  return new Map(Object.entries(content).map(([name, one]) => [`${name}.yaml`, stringifyYaml(objectOf(name, one))]))
}

function objectOf(name: string, { data, containers }: Resource): MutableJsonObject {
  const metadata = { name, ...(Object.keys(data).length === 0 ? {} : { annotations: data }) }
  if (containers === undefined)
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      ...(Object.keys(data).length === 0 ? {} : { data }),
    }
  const list = Object.entries(containers).map(([container, { image, env }]) => ({
    name: container,
    image,
    ...(Object.keys(env).length === 0
      ? {}
      : { env: Object.entries(env).map(([variable, content]) => ({ name: variable, value: content })) }),
  }))
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template: { spec: { containers: list } } } }
}
