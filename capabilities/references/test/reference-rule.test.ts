// ReferenceRules on the embedded server with RBAC: values follow their source, foreign values and other namespaces are
// left alone, and nothing happens with rights that the namespace does not have.
import { objectReference } from '@fairlead/controller'
import type { PolicyRule } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'
import type { ReferenceRule } from '../src/index.ts'
import { Stage, app, appObject, database, databaseObject, role, ruleKind, ruleObject, tenant, userOf } from './stage.ts'

describe('a rule with references in annotations', () => {
  test('sets the field, follows the source, and keeps the last value when the source is deleted', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject(),
      databaseObject('a', 'db'),
      appObject('a', 'web', { annotation: 'db' }),
    ])
    await eventually(async () =>
      expect((await stage.rule()).problems).toMatchObject([{ namespace: 'a', name: 'web', reason: 'ValueMissing' }]),
    )
    const waiting = await stage.relations(await stage.client.get(app, 'a/web'))
    expect(waiting.map(({ type, holds }) => [type, holds === true || holds?.reason])).toEqual([
      ['refers-to', 'ValueMissing'],
      ['input-of', true],
    ])
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
    await stage.setHost('a', 'db', 'two.example')
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('two.example'))
    await eventually(async () =>
      expect(await stage.rule()).toMatchObject({ ready: { status: 'True' }, counts: [1, 0, 0] }),
    )
    const [web, db] = [await stage.client.get(app, 'a/web'), await stage.client.get(database, 'a/db')]
    const edge = {
      type: 'refers-to',
      from: objectReference(web),
      to: { ...database, namespace: 'a', name: 'db' },
      holds: true,
    }
    const ofRule = {
      type: 'input-of',
      from: objectReference(web),
      to: objectReference(await stage.client.get(ruleKind, 'hosts')),
      holds: true,
    }
    expect([await stage.relations(web), await stage.relations(db)]).toEqual([[edge, ofRule], [edge]])
    expect(await stage.metric('fairlead_references_edges')).toEqual({ App: 1 })

    await stage.client.delete(database, 'a/db')
    await eventually(async () =>
      expect(await stage.rule()).toMatchObject({
        ready: { status: 'Unknown', reason: 'TargetsWaiting' },
        counts: [0, 1, 0],
      }),
    )
    expect(await stage.host('a', 'web')).toBe('two.example')
  })

  test('takes its value back when the reference is removed, and writes nothing else', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject(),
      databaseObject('a', 'db'),
      appObject('a', 'web', { annotation: 'db' }),
    ])
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
    await stage.client.patch(app, 'a/web', { merge: { metadata: { annotations: { 'test.dev/database': null } } } })
    await eventually(async () => expect(await stage.host('a', 'web')).toBeUndefined())
    const { spec } = await stage.client.get(app, 'a/web')
    expect(spec).toEqual({ size: 1 })
    await eventually(async () => expect((await stage.rule()).counts).toEqual([0, 0, 0]))
  })

  test('takes its value back from an object that its user made without fields', async () => {
    const web = appObject('a', 'web', { annotation: 'db' })
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject(),
      databaseObject('a', 'db'),
      { ...web, spec: {} },
    ])
    await stage.setHost('a', 'db', 'one.example')
    const refersTo = (name: string | null): Promise<unknown> =>
      stage.client.patch(app, 'a/web', { merge: { metadata: { annotations: { 'test.dev/database': name } } } })
    for (const _time of ['the first', 'once more']) {
      await refersTo('db')
      await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
      await refersTo(null)
      await eventually(async () => expect((await stage.client.get(app, 'a/web')).spec).toEqual({}))
    }
    await eventually(async () => expect((await stage.rule()).counts).toEqual([0, 0, 0]))
  })

  test('leaves a value that another client set', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      databaseObject('a', 'db'),
      appObject('a', 'web', { annotation: 'db', host: 'mine.example' }),
      ruleObject(),
    ])
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () => expect((await stage.rule()).problems).toMatchObject([{ reason: 'ReferenceIgnored' }]))
    expect(await stage.host('a', 'web')).toBe('mine.example')
  })
})

describe('a rule with references in a field', () => {
  test('takes every spelling, and fills a template', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject({ path: 'spec.databaseRef' }, { format: 'db://{value}' }),
      databaseObject('a', 'db'),
      appObject('a', 'one', { ref: { name: 'db' } }),
      appObject('a', 'two', { ref: { from: { name: 'db', namespace: 'a' } } }),
      appObject('a', 'three', { ref: { external: 'far.example' } }),
      appObject('a', 'four', { ref: { name: 'db', external: 'x' } }),
    ])
    await stage.setHost('a', 'db', 'near')
    await eventually(async () =>
      expect(await Promise.all(['one', 'two', 'three', 'four'].map((name) => stage.host('a', name)))).toEqual([
        'db://near',
        'db://near',
        'db://far.example',
        undefined,
      ]),
    )
    await eventually(async () =>
      expect((await stage.rule()).problems).toMatchObject([{ name: 'four', reason: 'InvalidReference' }]),
    )
  })

  test.each([
    [{ host: { name: 'x' } }, 'has a map at spec.host: name a string, number or boolean'],
    [{ host: ['x'] }, 'has a list at spec.host: name a string, number or boolean'],
    [{ host: '' }, 'has no value at spec.host'],
  ])('says what a source with %j lacks', async (spec, message) => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject({ path: 'spec.databaseRef' }, { source: { ...database, valuePath: 'spec.host' } }),
      { ...databaseObject('a', 'db'), spec },
      appObject('a', 'web', { ref: { name: 'db' } }),
    ])
    await eventually(async () =>
      expect((await stage.rule()).problems).toMatchObject([
        { reason: 'ValueMissing', message: expect.stringContaining(message) },
      ]),
    )
  })

  test('waits for Synced of the present generation where it says so', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject({ path: 'spec.databaseRef' }, { waitFor: 'Synced' }),
      databaseObject('a', 'db'),
      appObject('a', 'web', { ref: { name: 'db' } }),
    ])
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () => expect((await stage.rule()).problems).toMatchObject([{ reason: 'ReferentNotReady' }]))
    expect(await stage.host('a', 'web')).toBeUndefined()
    const ready = {
      type: 'Ready',
      status: 'True',
      observedGeneration: 1,
      reason: 'Up',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    await stage.client.patch(
      database,
      'a/db',
      { merge: { status: { conditions: [ready] } } },
      { subresource: 'status' },
    )
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
  })
})

describe('borders', () => {
  const grant: KubeObject = {
    apiVersion: 'references.fairlead.dev/v1alpha1',
    kind: 'ReferenceGrant',
    metadata: { name: 'to-a', namespace: 'b' },
    spec: { from: [{ group: 'test.dev', kind: 'App', namespace: 'a' }], to: [{ group: 'test.dev', kind: 'Database' }] },
  }
  const accountOfA = { kind: 'ServiceAccount', name: 'resolver', namespace: 'a' }
  const readOfB = [
    role({ name: 'readers', namespace: 'b' }, [{ apiGroups: ['test.dev'], resources: ['databases'], verbs: ['get'] }]),
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'readers', namespace: 'b' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'readers' },
      subjects: [accountOfA],
    } as KubeObject,
  ]

  test('a value crosses namespaces with a grant and the right to read it, with neither alone', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ...tenant('b'),
      ruleObject(),
      databaseObject('b', 'db'),
      appObject('a', 'web', { annotation: 'b/db' }),
    ])
    await stage.setHost('b', 'db', 'secret.example')
    await eventually(async () => expect((await stage.rule()).problems).toMatchObject([{ reason: 'Forbidden' }]))
    for (const object of readOfB) await stage.client.apply(object)
    await eventually(async () =>
      expect((await stage.rule()).problems).toMatchObject([{ reason: 'CrossNamespaceDenied' }]),
    )
    expect(await stage.host('a', 'web')).toBeUndefined()
    await stage.client.apply(grant)
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('secret.example'))
    // Taken away again, later values stay where they are.
    await stage.client.delete(grant, 'b/to-a')
    await eventually(async () =>
      expect((await stage.rule()).problems).toMatchObject([{ reason: 'CrossNamespaceDenied' }]),
    )
    await stage.setHost('b', 'db', 'later.example')
    await eventually(async () => expect((await stage.rule()).counts).toEqual([0, 0, 1]))
    expect(await stage.host('a', 'web')).toBe('secret.example')
  })

  test('no label, annotation, owner reference, manager or grant that a user of the namespace writes lets a value in', async () => {
    await using stage = await Stage.start([...tenant('a'), ...tenant('b'), ...readOfB, ruleObject(), userOf('a')])
    await stage.client.apply(databaseObject('b', 'db'))
    await stage.setHost('b', 'db', 'secret.example')
    const { uid = '' } = (await stage.client.get(database, 'b/db')).metadata
    const owner = { apiVersion: database.apiVersion, kind: database.kind, name: 'db', uid }
    const user = stage.server.client({ as: { name: 'user-of-a', groups: [] } })
    const marks: Readonly<Record<string, string>> = {
      'app.kubernetes.io/managed-by': 'fairlead-references',
      'app.kubernetes.io/instance': 'b',
      'references.fairlead.dev/grant': 'b/to-a',
      'references.fairlead.dev/namespace': 'b',
      'rbac.fairlead.dev/aggregate-to-references': 'true',
    }
    const forged: readonly (readonly [name: string, metadata: object, manager?: string])[] = [
      ['plain', {}],
      ['labels', { labels: { ...marks, 'references.fairlead.dev/grant': 'to-a' } }],
      ['annotations', { annotations: { ...marks, 'kubernetes.io/namespace': 'b' } }],
      ['owned', { ownerReferences: [owner] }],
      ['controlled', { ownerReferences: [{ ...owner, controller: true }] }],
      ['managed', {}, 'fairlead-references-hosts'],
    ]
    for (const [name, metadata, manager = 'kubectl'] of forged) {
      const web = appObject('a', name, {
        annotation: 'b/db',
        ...(manager === 'kubectl' ? {} : { host: 'mine.example' }),
      })
      const annotations = { ...(metadata as KubeObject['metadata']).annotations, ...web.metadata.annotations }
      await user.with({ manager }).apply({ ...web, metadata: { ...web.metadata, ...metadata, annotations } })
    }
    // An owner in another namespace counts as absent: the garbage collector deletes what it owns.
    const lasting = forged.flatMap(([name]) => (['owned', 'controlled'].includes(name) ? [] : [name]))
    // A grant of the user's own namespace grants nothing of another; in that one the user writes none.
    await user.create({ ...grant, metadata: { name: 'to-a', namespace: 'a' } })
    await expect(user.create(grant)).rejects.toThrow('forbidden')
    await eventually(async () => {
      const { problems, counts } = await stage.rule()
      expect(counts.slice(0, 2)).toEqual([0, 0])
      expect(problems.map(({ name }) => name)).toEqual(expect.arrayContaining(lasting))
      expect([...new Set(problems.map(({ reason }) => reason))]).toEqual(['CrossNamespaceDenied'])
    })
    const visible = [
      ...(await stage.client.list(app, { namespace: 'a' })).items,
      await stage.client.get(ruleKind, 'hosts'),
    ]
    expect(JSON.stringify(visible)).not.toContain('secret.example')
    await stage.client.apply(grant)
    // What is applied under the manager of the rule goes with its next apply, the reference included.
    for (const name of lasting.filter((one) => one !== 'managed'))
      await eventually(async () => expect(await stage.host('a', name)).toBe('secret.example'))
  })

  test('targets that fail are listed, and named in the condition, before those that wait', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject(),
      ...Array.from({ length: 11 }, (_, index) => appObject('a', `app-${index + 10}`, { annotation: 'later' })),
      appObject('a', 'web', { annotation: '' }),
    ])
    await eventually(async () => {
      const { problems, ready, counts } = await stage.rule()
      expect(counts).toEqual([0, 11, 1])
      expect(problems.map(({ name }) => name).slice(0, 3)).toEqual(['web', 'app-10', 'app-11'])
      expect(ready).toMatchObject({
        reason: 'TargetsFailing',
        message: expect.stringContaining('1 target cannot be resolved, such as a/web: '),
      })
    })
  })

  test('a grant without the right to read lets nothing through', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ...tenant('b'),
      grant,
      ruleObject(),
      databaseObject('b', 'db'),
      appObject('a', 'web', { annotation: 'b/db' }),
    ])
    await stage.setHost('b', 'db', 'secret.example')
    await eventually(async () => expect((await stage.rule()).problems).toMatchObject([{ reason: 'Forbidden' }]))
    expect(await stage.host('a', 'web')).toBeUndefined()
  })

  test('an account without rights in its own namespace reads and writes nothing, and recovers when they are granted', async () => {
    const [namespace, account, rights, binding] = tenant('a') as [KubeObject, KubeObject, KubeObject, KubeObject]
    await using stage = await Stage.start([
      namespace,
      account,
      ruleObject(),
      databaseObject('a', 'db'),
      appObject('a', 'web', { annotation: 'db' }),
    ])
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () => {
      const { problems } = await stage.rule()
      expect(problems).toMatchObject([
        { reason: 'Forbidden', message: expect.stringContaining('may not get databases') },
      ])
    })
    await stage.client.apply(rights)
    await stage.client.apply(binding)
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
  })

  test('says that rights cannot be read, and what was granted meanwhile counts once they can', async () => {
    const [namespace, account, rights, binding] = tenant('a') as [KubeObject, KubeObject, KubeObject, KubeObject]
    await using stage = await Stage.start([namespace, account, databaseObject('a', 'db')])
    const own = await stage.client.get({ apiVersion: rights.apiVersion, kind: 'ClusterRole' }, 'fairlead-references')
    const rules = (own['rules'] as unknown as readonly PolicyRule[]).filter(
      ({ apiGroups }) => apiGroups?.includes('rbac.authorization.k8s.io') !== true,
    )
    await stage.client.patch(own, 'fairlead-references', { merge: { rules } as unknown as JsonObject })
    for (const object of [ruleObject(), appObject('a', 'web', { annotation: 'db' })]) await stage.client.apply(object)
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () =>
      expect((await stage.rule()).ready).toMatchObject({
        reason: 'TargetsFailing',
        message: expect.stringMatching(/may not get databases.*not known when rights are granted.*cannot be read/s),
      }),
    )
    for (const object of [rights, binding]) await stage.client.apply(object)
    await stage.client.patch(own, 'fairlead-references', { merge: { rules: own['rules'] } as unknown as JsonObject })
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
    await eventually(async () => expect((await stage.rule()).ready).toMatchObject({ reason: 'Resolved' }))
  })

  test('says which command prints the rights that a rule needs', async () => {
    await using stage = await Stage.start([...tenant('a')])
    const source = { apiVersion: 'v1', kind: 'Service', valuePath: 'spec.clusterIP' }
    await stage.client.apply(ruleObject({ annotation: 'x' }, { source }))
    await eventually(async () =>
      expect((await stage.rule()).ready).toMatchObject({
        reason: 'KindUnavailable',
        message: expect.stringMatching(/cannot list resource "services".*`fairlead refs rbac -f RULES\.yaml` prints/s),
      }),
    )
  })

  test('a Secret is refused as a source, whatever the rule says', async () => {
    await using stage = await Stage.start([...tenant('a')])
    const rule = ruleObject(
      { annotation: 'x' },
      { source: { apiVersion: 'v1', kind: 'Secret', valuePath: 'data.password' } },
    )
    await expect(stage.client.create(rule)).rejects.toThrow('a Secret is never the source of a value')
  })
})

describe('the rule itself', () => {
  test('says which kind is not served, and starts when it is', async () => {
    const rule = ruleObject(
      { annotation: 'test.dev/database' },
      { source: { apiVersion: 'late.dev/v1', kind: 'Late', valuePath: 'spec.host' } },
    )
    await using stage = await Stage.start([...tenant('a'), rule])
    await eventually(async () => {
      const { ready } = await stage.rule()
      expect(ready).toMatchObject({ status: 'False', reason: 'NotAccepted', message: expect.stringContaining('Late') })
    })
  })

  test('refuses what its schema can refuse', async () => {
    await using stage = await Stage.start([])
    for (const [reference, spec, message] of [
      [{}, {}, 'exactly one of path and annotation'],
      [{ path: 'spec.a', annotation: 'b' }, {}, 'exactly one of path and annotation'],
      [{ annotation: 'b' }, { format: 'no value' }, 'must contain {value}'],
      [
        { annotation: 'b' },
        { target: { ...app, fieldPath: 'metadata', reference: { annotation: 'b' } } },
        'spec.target.fieldPath in body should match',
      ],
      ...[
        'metadata.name',
        'metadata.labels.x',
        'metadata.annotations.x',
        'metadata.ownerReferences',
        'metadata.finalizers',
        'status.host',
      ].map(
        (fieldPath) =>
          [
            { annotation: 'b' },
            { target: { ...app, fieldPath, reference: { annotation: 'b' } } },
            'must not be a field of metadata or status',
          ] as const,
      ),
    ] as const)
      await expect(stage.client.create(ruleObject(reference, spec))).rejects.toThrow(message)
  })

  test('is carried out in its new form when it is edited, and beside a second rule with the same source', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject(),
      databaseObject('a', 'db'),
      appObject('a', 'web', { annotation: 'db' }),
    ])
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
    await stage.client.patch(ruleKind, 'hosts', { merge: { spec: { format: 'db://{value}' } } })
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('db://one.example'))
    await eventually(async () => expect((await stage.rule()).ready).toMatchObject({ observedGeneration: 2 }))
    const second = ruleObject(
      { annotation: 'test.dev/database' },
      {
        target: { ...app, fieldPath: 'spec.copy', reference: { annotation: 'test.dev/database' } },
      },
    )
    await stage.client.apply({ ...second, metadata: { name: 'second' } })
    await eventually(async () =>
      expect((await stage.client.get(app, 'a/web'))['spec']).toMatchObject({ copy: 'one.example' }),
    )
    await stage.setHost('a', 'db', 'two.example')
    await eventually(async () =>
      expect((await stage.client.get(app, 'a/web'))['spec']).toMatchObject({
        databaseHost: 'db://two.example',
        copy: 'two.example',
      }),
    )
  })

  test('takes over the values of a rule that was deleted, and no value that a user has as well', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject(),
      databaseObject('a', 'db'),
      appObject('a', 'web', { annotation: 'db' }),
      appObject('a', 'shared', { annotation: 'db' }),
    ])
    await stage.setHost('a', 'db', 'one.example')
    for (const name of ['web', 'shared'])
      await eventually(async () => expect(await stage.host('a', name)).toBe('one.example'))
    const user = stage.client.with({ manager: 'ann' })
    await user.apply(appObject('a', 'shared', { annotation: 'db', host: 'one.example' }))
    const renamed = { ...ruleObject(), metadata: { name: 'renamed' } }
    const problems = async (): Promise<readonly unknown[]> =>
      ((await stage.client.get(ruleKind, 'renamed')) as unknown as ReferenceRule).status?.problems ?? []
    await stage.client.apply(renamed)
    const ignored = (name: string, by: string): object => ({
      name,
      reason: 'ReferenceIgnored',
      message: expect.stringContaining(`is set by ${by}`),
    })
    await eventually(async () =>
      expect(await problems()).toMatchObject([
        ignored('shared', 'ann, fairlead-references-hosts'),
        ignored('web', 'fairlead-references-hosts'),
      ]),
    )
    await stage.client.delete(ruleKind, 'hosts')
    await eventually(async () => expect(await problems()).toMatchObject([ignored('shared', 'ann')]))
    await stage.setHost('a', 'db', 'two.example')
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('two.example'))
    expect(await stage.host('a', 'shared')).toBe('one.example')
    const managers = async (): Promise<readonly unknown[]> =>
      ((await stage.client.get(app, 'a/web')).metadata.managedFields ?? []).map(({ manager }) => manager).toSorted()
    await eventually(async () => expect(await managers()).toEqual(['fairlead-references-renamed', 'kubectl']))
    await stage.client.patch(app, 'a/web', { merge: { metadata: { annotations: { 'test.dev/database': null } } } })
    await eventually(async () => expect(await stage.host('a', 'web')).toBeUndefined())
  })

  test('leaves all values when it is deleted', async () => {
    await using stage = await Stage.start([
      ...tenant('a'),
      ruleObject(),
      databaseObject('a', 'db'),
      appObject('a', 'web', { annotation: 'db' }),
    ])
    await stage.setHost('a', 'db', 'one.example')
    await eventually(async () => expect(await stage.host('a', 'web')).toBe('one.example'))
    await stage.client.delete(ruleKind, 'hosts')
    await stage.setHost('a', 'db', 'two.example')
    await eventually(async () => expect(await stage.client.find(ruleKind, 'hosts')).toBeUndefined())
    expect(await stage.host('a', 'web')).toBe('one.example')
  })
})
