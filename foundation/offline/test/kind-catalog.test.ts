import { describe, expect, test } from 'vitest'
import { KindCatalog, UnknownKindError, pluralOf } from '@fairlead/offline'
import type { KubeObject } from '@fairlead/kube'

function crd(group: string, kind: string, plural: string, more: object = {}): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names: { kind, plural }, versions: [{ name: 'v1' }], ...more },
  }
}

function object(apiVersion: string, kind: string, namespace?: string): KubeObject {
  return { apiVersion, kind, metadata: { name: 'one', ...(namespace && { namespace }) } }
}

describe("Kubernetes' own kinds", () => {
  const catalog = new KindCatalog()

  test.each([
    ['po', 'v1', 'Pod'],
    ['pods', 'v1', 'Pod'],
    ['Pod', 'v1', 'Pod'],
    ['deploy', 'apps/v1', 'Deployment'],
    ['deployments.apps', 'apps/v1', 'Deployment'],
    ['deployments.v1.apps', 'apps/v1', 'Deployment'],
    ['hpa', 'autoscaling/v2', 'HorizontalPodAutoscaler'],
    ['ep', 'v1', 'Endpoints'],
    ['ev', 'v1', 'Event'],
    ['events.events.k8s.io', 'events.k8s.io/v1', 'Event'],
    ['crd', 'apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
  ])('byName finds %s', (name, apiVersion, kind) => {
    expect(catalog.byName(name)).toMatchObject({ apiVersion, kind })
  })

  test('byResource and byKind agree', () => {
    const ingress = {
      apiVersion: 'networking.k8s.io/v1',
      group: 'networking.k8s.io',
      version: 'v1',
      kind: 'Ingress',
      plural: 'ingresses',
      singular: 'ingress',
      shortNames: ['ing'],
      namespaced: true,
    }
    expect(catalog.byResource({ apiVersion: 'networking.k8s.io/v1', resource: 'ingresses' })).toEqual(ingress)
    expect(catalog.byKind({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' })).toEqual(ingress)
    expect(catalog.byKind({ apiVersion: 'v1', kind: 'Node' }).namespaced).toBe(false)
  })

  test('a wrong version of a built-in kind is unknown, also with an object of it', () => {
    const wanted = 'Kubernetes has no kind Deployment in apps/v1beta1; check the spelling and the version'
    const other = new KindCatalog([object('apps/v1beta1', 'Deployment')])
    for (const one of [catalog, other])
      expect(() => one.byKind({ apiVersion: 'apps/v1beta1', kind: 'Deployment' })).toThrow(wanted)
  })
})

describe('kinds of CustomResourceDefinitions', () => {
  test('are found by plural, kind, singular and short names, in all served versions', () => {
    const catalog = new KindCatalog([
      crd('example.com', 'Mouse', 'mice', {
        scope: 'Cluster',
        names: { kind: 'Mouse', plural: 'mice', singular: 'mouse', shortNames: ['mo'] },
        versions: [{ name: 'v1alpha1', served: false }, { name: 'v1beta1' }, { name: 'v1', served: true }],
      }),
    ])
    const mouse = { apiVersion: 'example.com/v1', kind: 'Mouse', plural: 'mice', namespaced: false }
    for (const name of ['mice', 'mouse', 'Mouse', 'mo', 'mice.example.com', 'mice.v1.example.com'])
      expect(catalog.byName(name)).toMatchObject(mouse)
    expect(catalog.byResource({ apiVersion: 'example.com/v1beta1', resource: 'mice' }).kind).toBe('Mouse')
    expect(() => catalog.byKind({ apiVersion: 'example.com/v1alpha1', kind: 'Mouse' })).toThrow(UnknownKindError)
  })

  test('come after the core group and before groups that are later in the alphabet', () => {
    const catalog = new KindCatalog([crd('z.example.com', 'Cron', 'crons'), crd('a.example.com', 'Cron', 'crons')])
    expect(catalog.byName('crons').group).toBe('a.example.com')
    expect(new KindCatalog([crd('a.example.com', 'Pod', 'pods')]).byName('pods').group).toBe('')
  })

  test('malformed definitions are ignored', () => {
    const malformed = [
      crd('example.com', 'A', 'as', { names: null }),
      crd('example.com', 'B', 'bs', { versions: 'v1' }),
      { ...crd('example.com', 'C', 'cs'), spec: undefined },
    ]
    expect(() => new KindCatalog(malformed as KubeObject[]).byName('as')).toThrow(UnknownKindError)
  })
})

describe('kinds of objects that nothing defines', () => {
  test('have a guessed plural; an object with a namespace makes them namespaced', () => {
    const catalog = new KindCatalog([object('example.com/v1', 'Policy', 'default')])
    expect(catalog.byResource({ apiVersion: 'example.com/v1', resource: 'policies' })).toMatchObject({
      kind: 'Policy',
      namespaced: true,
    })
  })

  test('take plural and scope from another version of the kind', () => {
    const catalog = new KindCatalog([
      crd('example.com', 'Mouse', 'mice', { scope: 'Cluster' }),
      object('example.com/v2', 'Mouse'),
    ])
    expect(catalog.byKind({ apiVersion: 'example.com/v2', kind: 'Mouse' })).toMatchObject({
      plural: 'mice',
      namespaced: false,
    })
  })
})

test('UnknownKindError names the CustomResourceDefinition to add', () => {
  const catalog = new KindCatalog()
  const error = errorOf(() => catalog.byResource({ apiVersion: 'example.com/v1', resource: 'mice' }))
  expect(error).toMatchObject({
    code: 'UnknownKind',
    exitCode: 1,
    message:
      'Nothing defines the resource mice in example.com/v1; add its CustomResourceDefinition (mice.example.com), or an object of that kind, to the files',
  })
  expect(errorOf(() => catalog.byKind({ apiVersion: 'example.com/v1', kind: 'Policy' })).message).toContain(
    'policies.example.com',
  )
  expect(errorOf(() => catalog.byName('mice')).message).toContain('There is no resource mice')
})

function errorOf(run: () => unknown): UnknownKindError {
  try {
    run()
  } catch (error) {
    return error as UnknownKindError
  }
  throw new Error('no error was thrown')
}

test.each([
  ['Repository', 'repositories'],
  ['Ingress', 'ingresses'],
  ['Gateway', 'gateways'],
  ['Endpoints', 'endpoints'],
  ['Patch', 'patches'],
])('pluralOf(%s) is %s', (kind, plural) => {
  expect(pluralOf(kind)).toBe(plural)
})
