// Scenarios for a comparison with the real Metacontroller. The hook of every scenario is one program: it returns what
// `spec.respond.<hook>` of the parent holds, so that a scenario is data and a few steps.
import type { Client } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'

export const Fleet: KindRef = { apiVersion: 'harbour.example.com/v1', kind: 'Fleet' }
export const Ocean: KindRef = { apiVersion: 'harbour.example.com/v1', kind: 'Ocean' }
export const Boat: KindRef = { apiVersion: 'harbour.example.com/v1', kind: 'Boat' }
export const Buoy: KindRef = { apiVersion: 'harbour.example.com/v1', kind: 'Buoy' }
export const ConfigMap: KindRef = { apiVersion: 'v1', kind: 'ConfigMap' }

/** A kind of objects. */
export interface KindRef {
  readonly apiVersion: string
  readonly kind: string
}

/** The cluster that a scenario runs in. */
export interface ScenarioCluster {
  readonly client: Client
  /** The namespace of the scenario; the prefix of its cluster-scoped names. */
  readonly name: string
}

/** A step; the driver settles after it. */
export type Step = (cluster: ScenarioCluster) => Promise<unknown>

/** A scenario. */
export interface Scenario {
  readonly title: string
  readonly kind: 'CompositeController' | 'DecoratorController'
  /** The spec without hook addresses; `hooks` names the hooks to have with their version. */
  readonly spec: JsonObject
  readonly hooks: Readonly<Record<string, 'v1' | 'v2'>>
  readonly steps: readonly Step[]
  /** The reason why requests are not compared; everything else is. */
  readonly ignoresRequests?: string
  /** The reason why the outcome differs. */
  readonly differs?: string
}

const labels = { fleet: 'north' }

function boat(name: string, spec: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return { ...Boat, metadata: { name, labels }, spec, ...more }
}

const create =
  (kind: KindRef, name: string, content: JsonObject, metadata: JsonObject = {}): Step =>
  (cluster) =>
    cluster.client.create({
      ...kind,
      metadata: { name: nameOf(cluster, kind, name), ...placeOf(cluster, kind), ...metadata },
      ...content,
    } as KubeObject)

const patch =
  (kind: KindRef, name: string, merge: JsonObject, subresource?: 'status'): Step =>
  (cluster) =>
    cluster.client.patch(kind, keyIn(cluster, kind, name), { merge }, subresource === undefined ? {} : { subresource })

const remove =
  (kind: KindRef, name: string, propagation: 'Background' | 'Orphan' | 'Foreground' = 'Background'): Step =>
  (cluster) =>
    cluster.client.delete(kind, keyIn(cluster, kind, name), { propagation })

function isClusterScoped({ kind }: KindRef): boolean {
  return kind === 'Ocean'
}

function nameOf({ name: prefix }: ScenarioCluster, kind: KindRef, name: string): string {
  return isClusterScoped(kind) ? `${prefix}-${name}` : name
}

function placeOf({ name }: ScenarioCluster, kind: KindRef): JsonObject {
  return isClusterScoped(kind) ? {} : { namespace: name }
}

function keyIn(cluster: ScenarioCluster, kind: KindRef, name: string): string {
  return isClusterScoped(kind) ? nameOf(cluster, kind, name) : `${cluster.name}/${name}`
}

/** A parent whose hooks respond with these values. */
function parent(respond: JsonObject, more: JsonObject = {}, metadata: JsonObject = {}): Step {
  return create(Fleet, 'north', { spec: { selector: { matchLabels: labels }, respond, ...more } }, metadata)
}

function respond(response: JsonObject): Step {
  return patch(Fleet, 'north', { spec: { respond: response } })
}

function composite(method: string, more: JsonObject = {}): JsonObject {
  return {
    parentResource: { apiVersion: Fleet.apiVersion, resource: 'fleets' },
    childResources: [{ apiVersion: Boat.apiVersion, resource: 'boats', updateStrategy: { method } }],
    ...more,
  }
}

function decorator(more: JsonObject = {}, resource: JsonObject = {}): JsonObject {
  return {
    resources: [{ apiVersion: Fleet.apiVersion, resource: 'fleets', ...resource }],
    attachments: [{ apiVersion: Boat.apiVersion, resource: 'boats', updateStrategy: { method: 'InPlace' } }],
    ...more,
  }
}

const two = (value: string): JsonObject => ({
  sync: { status: { value }, children: [boat('a', { value }), boat('b', { value })] },
})
const attached = (value: string, more: JsonObject = {}): JsonObject => ({
  sync: { attachments: [boat('a', { value })], ...more },
})
/** Where Metacontroller takes the labels of ControllerRevisions from. */
const template: JsonObject = { template: { metadata: { labels } } }
const sync = { sync: 'v1' } as const
const composites = (
  title: string,
  method: string,
  steps: readonly Step[],
  more: Partial<Scenario> & { readonly with?: JsonObject } = {},
): Scenario => {
  const { with: fields = {}, ...rest } = more
  return { title, kind: 'CompositeController', spec: composite(method, fields), hooks: sync, steps, ...rest }
}
const decorators = (
  title: string,
  steps: readonly Step[],
  more: Partial<Scenario> & { readonly with?: JsonObject; readonly on?: JsonObject } = {},
): Scenario => {
  const { with: fields = {}, on = {}, ...rest } = more
  return { title, kind: 'DecoratorController', spec: decorator(fields, on), hooks: sync, steps, ...rest }
}

const stalls =
  'a rollout of a namespaced parent stalls in Metacontroller: children are recorded by name, observed by namespace and name'
const related = (rules: readonly JsonObject[]): JsonObject => ({
  ...two('x'),
  customize: { relatedResources: [...rules] },
})
const config = (name: string, data: JsonObject, of: JsonObject = {}): Step =>
  create(ConfigMap, name, { data }, { labels: of })

/** All scenarios. */
export const scenarios: readonly Scenario[] = [
  composites('children and status are written', 'InPlace', [parent(two('x'))]),
  composites('InPlace changes, adds and removes fields', 'InPlace', [
    parent({ sync: { children: [boat('a', { stays: 1, changes: 1, goes: 1 })] } }),
    respond({ sync: { children: [boat('a', { stays: 1, changes: 2, comes: 1 })] } }),
  ]),
  composites('OnDelete leaves children as they are', 'OnDelete', [parent(two('x')), respond(two('y'))]),
  composites('a child under OnDelete that is deleted comes back changed', 'OnDelete', [
    parent(two('x')),
    respond(two('y')),
    remove(Boat, 'a'),
  ]),
  composites('Recreate replaces children', 'Recreate', [parent(two('x')), respond(two('y'))]),
  composites('a child that is not wanted any more is deleted', 'InPlace', [
    parent(two('x')),
    respond({ sync: { children: [boat('b', { value: 'x' })] } }),
  ]),
  composites('a child that is deleted comes back', 'InPlace', [parent(two('x')), remove(Boat, 'a')]),
  composites(
    'a changed field of a child is set back',
    'InPlace',
    [parent(two('x')), patch(Boat, 'a', { spec: { value: 'foreign' } })],
    { ignoresRequests: 'the second call shows the hook nothing new and is left out (ADR 0105)' },
  ),
  composites('a foreign field of a child stays', 'InPlace', [
    parent(two('x')),
    patch(Boat, 'a', { spec: { foreign: 'x' }, metadata: { labels: { foreign: 'x' } } }),
    respond(two('y')),
  ]),
  composites('a foreign field recreates no child', 'Recreate', [
    parent(two('x')),
    patch(Boat, 'a', { spec: { foreign: 'x' } }),
  ]),
  composites('lists of a child are merged by name', 'InPlace', [
    parent({
      sync: {
        children: [
          boat('a', {
            crew: [
              { name: 'x', rank: 1 },
              { name: 'y', rank: 1 },
            ],
          }),
        ],
      },
    }),
    patch(Boat, 'a', {
      spec: {
        crew: [
          { name: 'x', rank: 1 },
          { name: 'y', rank: 1 },
          { name: 'z', rank: 9 },
        ],
      },
    }),
    respond({
      sync: {
        children: [
          boat('a', {
            crew: [
              { name: 'y', rank: 2 },
              { name: 'w', rank: 1 },
            ],
          }),
        ],
      },
    }),
  ]),
  composites('lists of scalars of a child are replaced', 'InPlace', [
    parent({ sync: { children: [boat('a', { crew: ['x', 'y'] })] } }),
    respond({ sync: { children: [boat('a', { crew: ['z'] })] } }),
  ]),
  composites('children: null deletes all', 'InPlace', [
    parent(two('x')),
    patch(Fleet, 'north', { spec: { respond: { sync: { nothing: true } } } }),
  ]),
  composites('an empty list deletes all', 'InPlace', [parent(two('x')), respond({ sync: { children: [] } })]),
  composites('of two children of one name the last counts', 'InPlace', [
    parent({ sync: { children: [boat('a', { value: 1 }), boat('a', { value: 2 })] } }),
  ]),
  composites('a status of a desired child is ignored', 'InPlace', [
    parent({ sync: { children: [boat('a', { value: 1 }, { status: { up: true } })] } }),
    patch(Boat, 'a', { status: { up: false } }, 'status'),
  ]),
  composites('an orphan that the selector matches is adopted', 'InPlace', [
    create(Boat, 'a', { spec: { value: 'old' } }, { labels }),
    parent(two('x')),
  ]),
  composites('an orphan that the selector does not match is left alone', 'InPlace', [
    create(Boat, 'z', { spec: {} }, { labels: { fleet: 'south' } }),
    parent(two('x')),
  ]),
  composites(
    'a child whose labels change is released',
    'InPlace',
    [
      parent({ sync: { children: [] } }),
      create(Boat, 'a', { spec: {} }, { labels }),
      respond({ sync: { children: [boat('a')] } }),
      patch(Boat, 'a', { metadata: { labels: { fleet: 'south' } } }),
      respond({ sync: { children: [] } }),
    ],
    {
      differs: 'the hook wants the released child again: Metacontroller swallows that its name is taken, we report it',
    },
  ),
  composites('generateSelector labels children', 'InPlace', [parent(two('x')), respond(two('y'))], {
    with: { generateSelector: true },
  }),
  composites('a child that the selector does not match is an error', 'InPlace', [
    parent({ sync: { children: [{ ...Boat, metadata: { name: 'a' } }] } }),
  ]),
  composites('a parent without a selector is an error', 'InPlace', [
    create(Fleet, 'north', { spec: { respond: two('x') } }),
  ]),
  composites('a hook that fails is an error, and children stay', 'InPlace', [
    parent(two('x')),
    respond({ sync: { fail: 500 } }),
  ]),
  composites('a hook that is busy is no error', 'InPlace', [parent(two('x')), respond({ sync: { fail: 429 } })]),
  composites('a response without a status leaves observedGeneration', 'InPlace', [
    parent({ sync: { children: [] } }),
    respond({ sync: { children: [], status: null } }),
  ]),
  composites('a status replaces the whole status', 'InPlace', [
    parent({ sync: { children: [], status: { one: 1 } } }),
    respond({ sync: { children: [], status: { two: 2 } } }),
  ]),
  composites('a status that is changed by hand is set back', 'InPlace', [
    parent({ sync: { children: [], status: { one: 1 } } }),
    patch(Fleet, 'north', { status: { one: 7, foreign: 1 } }, 'status'),
  ]),
  composites('children are collected with their parent', 'InPlace', [parent(two('x')), remove(Fleet, 'north')]),
  composites(
    'children of a parent that is deleted with orphaning stay',
    'InPlace',
    [parent(two('x')), remove(Fleet, 'north', 'Orphan')],
    { ignoresRequests: 'which one is the last depends on time' },
  ),
  composites(
    'a parent is finalized when it is deleted',
    'InPlace',
    [parent({ ...two('x'), finalize: { children: [], finalized: true } }), remove(Fleet, 'north')],
    { hooks: { sync: 'v1', finalize: 'v1' } },
  ),
  composites(
    'a parent stays until it is finalized',
    'InPlace',
    [
      parent({ ...two('x'), finalize: { children: [boat('b', { value: 'end' })], status: { ending: true } } }),
      remove(Fleet, 'north'),
    ],
    { hooks: { sync: 'v1', finalize: 'v1' } },
  ),
  composites(
    'a parent whose labels match no more is finalized',
    'InPlace',
    [
      parent({ ...two('x'), finalize: { children: [], finalized: true } }, {}, { labels: { port: 'yes' } }),
      patch(Fleet, 'north', { metadata: { labels: { port: 'no' } } }),
    ],
    {
      hooks: { sync: 'v1', finalize: 'v1' },
      with: {
        parentResource: {
          apiVersion: Fleet.apiVersion,
          resource: 'fleets',
          labelSelector: { matchLabels: { port: 'yes' } },
        },
      },
    },
  ),
  composites('a parent that the labelSelector does not match is left alone', 'InPlace', [parent(two('x'))], {
    with: {
      parentResource: {
        apiVersion: Fleet.apiVersion,
        resource: 'fleets',
        labelSelector: { matchLabels: { port: 'yes' } },
      },
    },
  }),
  composites('keys of v2 have namespaces', 'InPlace', [parent(two('x')), respond(two('y'))], { hooks: { sync: 'v2' } }),
  composites(
    'related objects by label',
    'InPlace',
    [
      config('one', { k: '1' }, { use: 'yes' }),
      config('two', { k: '2' }),
      parent(related([{ apiVersion: 'v1', resource: 'configmaps', labelSelector: { matchLabels: { use: 'yes' } } }])),
      patch(ConfigMap, 'one', { data: { k: 'changed' } }),
      patch(ConfigMap, 'two', { metadata: { labels: { use: 'yes' } } }),
    ],
    { hooks: { sync: 'v1', customize: 'v1' } },
  ),
  composites(
    'related objects by name',
    'InPlace',
    [
      parent(related([{ apiVersion: 'v1', resource: 'configmaps', names: ['one'] }])),
      config('one', { k: '1' }),
      config('two', { k: '2' }),
      remove(ConfigMap, 'one'),
    ],
    { hooks: { sync: 'v1', customize: 'v1' } },
  ),
  composites(
    'a related namespace of a v2 hook',
    'InPlace',
    [parent(related([{ apiVersion: 'v1', resource: 'namespaces', names: ['kube-system'] }]))],
    { hooks: { sync: 'v2', customize: 'v2' } },
  ),
  composites('RollingInPlace', 'RollingInPlace', [parent(two('x'), template), respond(two('y'))], { differs: stalls }),
  composites('RollingRecreate', 'RollingRecreate', [parent(two('x'), template), respond(two('y'))], {
    differs: stalls,
  }),
  composites('the first revision of a rolling parent', 'RollingInPlace', [parent(two('x'), template)]),
  composites('the first revision of a rolling parent without a template', 'RollingInPlace', [parent(two('x'))], {
    differs:
      'Metacontroller releases the ControllerRevision that it just made, since it has no labels, and fails to make it again',
  }),
  composites(
    'a cluster-scoped parent has children in a namespace',
    'InPlace',
    [
      (cluster) =>
        create(Ocean, 'north', {
          spec: {
            selector: { matchLabels: labels },
            respond: {
              sync: { children: [{ ...Boat, metadata: { name: 'a', namespace: cluster.name, labels }, spec: {} }] },
            },
          },
        })(cluster),
    ],
    { with: { parentResource: { apiVersion: Ocean.apiVersion, resource: 'oceans' } } },
  ),
  composites(
    'a parent kind without a status subresource is left alone',
    'InPlace',
    [create(Buoy, 'north', { spec: { selector: { matchLabels: labels }, respond: two('x') } })],
    { with: { parentResource: { apiVersion: Buoy.apiVersion, resource: 'buoys' } } },
  ),
  decorators('labels and annotations are set and removed', [
    parent(attached('x', { labels: { a: '1', b: '2' }, annotations: { c: '3' } })),
    patch(Fleet, 'north', { spec: { respond: { sync: { labels: { a: '9', b: '' } } } } }),
  ]),
  decorators('attachments are made, changed and deleted', [
    parent(attached('x')),
    respond(attached('y')),
    respond({ sync: { attachments: [] } }),
  ]),
  decorators('a status is written', [parent(attached('x', { status: { seen: true } }))]),
  decorators('an object without a status in the response keeps its own', [
    parent(attached('x')),
    patch(Fleet, 'north', { status: { own: 1 } }, 'status'),
  ]),
  decorators(
    'only objects whose annotations match are decorated',
    [parent(attached('x')), patch(Fleet, 'north', { metadata: { annotations: { decorate: 'yes' } } })],
    { on: { annotationSelector: { matchAnnotations: { decorate: 'yes' } } } },
  ),
  decorators(
    'an object is finalized when it is deleted',
    [parent({ ...attached('x'), finalize: { attachments: [], finalized: true } }), remove(Fleet, 'north')],
    { hooks: { sync: 'v1', finalize: 'v1' } },
  ),
  decorators('an attachment without owner is not adopted', [
    create(Boat, 'z', { spec: {} }, { labels }),
    parent(attached('x')),
  ]),
  decorators('keys of v2 have namespaces', [parent(attached('x')), respond(attached('y'))], { hooks: { sync: 'v2' } }),
  decorators(
    'related objects of a decorator',
    [
      config('one', { k: '1' }),
      parent({
        ...attached('x'),
        customize: { relatedResources: [{ apiVersion: 'v1', resource: 'configmaps', names: ['one'] }] },
      }),
    ],
    { hooks: { sync: 'v1', customize: 'v1' } },
  ),
]
