// Random packages and edits for property tests: resources of four kinds, changed field by field.
import type { MutableJsonObject } from '@fairlead/kube'
import { stringifyYaml } from '@fairlead/kube'
import type { PackageFiles } from '@fairlead/packages'
import fc from 'fast-check'

/** A Deployment when it has containers, a Service when it has ports, a Widget when it has items, else a ConfigMap. */
export interface Resource {
  readonly data: Readonly<Record<string, string>>
  readonly containers?: Readonly<Record<string, Container>>
  /** Target ports by `port/protocol`. */
  readonly ports?: Readonly<Record<string, string>>
  /** A list that is one value. */
  readonly items?: readonly string[]
  /** File without extension; the name of the resource when left out. */
  readonly file?: string
}

interface Container {
  readonly image: string
  readonly env: Readonly<Record<string, string>>
  readonly limits: Readonly<Record<string, string>>
}

/** A package: resources by name. */
export type Package = Readonly<Record<string, Resource>>

/** Sets or removes one leaf. */
export interface Edit {
  readonly resource: string
  /** `resource`, `move`, `items`, `data/KEY`, `port/PORT/PROTOCOL`, `container/NAME`, `image/NAME`, `env/NAME/KEY`, `limit/NAME/KEY`. */
  readonly at: string
  /** Undefined removes. */
  readonly value: string | undefined
}

const names = fc.constantFrom('web', 'db', 'cache')
const key = fc.constantFrom('a', 'b', 'c', 'd')
const value = fc.constantFrom('one', 'two', 'true', '8080', 'with: colon', '- dash', '# hash', '')
const port = fc.constantFrom('80/TCP', '80/UDP', '443/TCP')
const container = fc.record({
  image: fc.constantFrom('app:1', 'app:2', 'side:1'),
  env: fc.dictionary(key, value, { maxKeys: 3 }),
  limits: fc.dictionary(key, fc.constantFrom('1Gi', '2Gi'), { maxKeys: 2 }),
})
const data = fc.dictionary(key, value, { maxKeys: 3 })
const resource: fc.Arbitrary<Resource> = fc.oneof(
  fc.record({ data }),
  fc.record({ data, containers: fc.dictionary(key, container, { minKeys: 1, maxKeys: 3 }) }),
  fc.record({ data, ports: fc.dictionary(port, fc.constantFrom('http', 'dns'), { minKeys: 1, maxKeys: 3 }) }),
  fc.record({ data, items: fc.array(key, { minLength: 1, maxLength: 3 }) }),
)

/** Packages of up to three resources. */
export const packages: fc.Arbitrary<Package> = fc.dictionary(names, resource, { maxKeys: 3 })

const places = fc.oneof(
  { weight: 4, arbitrary: key.map((name) => `data/${name}`) },
  { weight: 2, arbitrary: key.map((name) => `image/${name}`) },
  { weight: 2, arbitrary: fc.tuple(key, key).map(([name, variable]) => `env/${name}/${variable}`) },
  { weight: 1, arbitrary: fc.tuple(key, key).map(([name, limit]) => `limit/${name}/${limit}`) },
  { weight: 1, arbitrary: key.map((name) => `container/${name}`) },
  { weight: 2, arbitrary: port.map((name) => `port/${name}`) },
  { weight: 1, arbitrary: fc.constant('items') },
  { weight: 1, arbitrary: fc.constant('resource') },
  { weight: 1, arbitrary: fc.constant('move') },
)

/** Edits of a package; those of something that it does not have change nothing. */
export const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.record({ resource: names, at: places, value: fc.option(value, { nil: undefined }) }),
  { maxLength: 6 },
)

type Mutable<T> = T extends readonly (infer E)[]
  ? E[]
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T

/** Returns the package after the edits. */
export function edited(base: Package, changes: readonly Edit[]): Package {
  const out = structuredClone(base) as Mutable<Package>
  for (const { at, resource: name, value: content } of changes) {
    const one = out[name]
    if (at === 'resource') {
      if (content === undefined) delete out[name]
      else out[name] ??= { data: { added: content } }
    } else if (at === 'move') {
      if (one !== undefined) one.file = content === undefined ? name : `other-${name}`
    } else if (one !== undefined) editResource(one, at, content)
  }
  return out
}

function editResource(one: Mutable<Resource>, at: string, content: string | undefined): void {
  const [what, first = '', second = ''] = at.split('/')
  const { containers, data: own, items, ports } = one
  const target = containers?.[first]
  if (what === 'data') set(own, first, content)
  else if (what === 'items' && items !== undefined) one.items = [content ?? 'none', ...items.slice(0, 1)]
  else if (what === 'port' && ports !== undefined) setUnlessLast(ports, `${first}/${second}`, content && 'changed')
  else if (what === 'container' && containers !== undefined)
    setUnlessLast(
      containers,
      first,
      content === undefined ? undefined : (target ?? { image: 'new:1', env: {}, limits: {} }),
    )
  else if (target !== undefined) {
    if (what === 'image') target.image = `image:${content ?? 'none'}`
    if (what === 'env') set(target.env, second, content)
    if (what === 'limit') set(target.limits, second, content)
  }
}

function set<T>(map: Record<string, T>, name: string, content: T | undefined): void {
  if (content === undefined) delete map[name]
  else map[name] = content
}

/** Sets or removes, but never the last one: Kubernetes refuses empty lists here. */
function setUnlessLast<T>(map: Record<string, T>, name: string, content: T | undefined): void {
  if (content !== undefined || Object.keys(map).length > 1) set(map, name, content)
}

/** Returns the files of a package, one for each resource. */
export function filesOf(content: Package): PackageFiles {
  return new Map(
    Object.entries(content).map(([name, one]) => [`${one.file ?? name}.yaml`, stringifyYaml(objectOf(name, one))]),
  )
}

function objectOf(name: string, { containers, data: own, items, ports }: Resource): MutableJsonObject {
  const isEmpty = Object.keys(own).length === 0
  const metadata = { name, ...(isEmpty ? {} : { annotations: own }) }
  if (containers !== undefined)
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { template: { spec: { containers: containerList(containers) } } },
    }
  if (ports !== undefined) {
    const list = Object.entries(ports).map(([port, targetPort]) => {
      const [number, protocol = ''] = port.split('/')
      return { port: Number(number), protocol, targetPort }
    })
    return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: list } }
  }
  if (items !== undefined) return { apiVersion: 'example.org/v1', kind: 'Widget', metadata, spec: { items } }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...(isEmpty ? {} : { data: own }) }
}

function containerList(containers: Readonly<Record<string, Container>>): MutableJsonObject[] {
  return Object.entries(containers).map(([name, { env, image, limits }]) => {
    const variables = Object.entries(env).map(([variable, content]) => ({ name: variable, value: content }))
    return {
      name,
      image,
      ...(Object.keys(limits).length === 0 ? {} : { resources: { limits } }),
      ...(variables.length === 0 ? {} : { env: variables }),
    }
  })
}
