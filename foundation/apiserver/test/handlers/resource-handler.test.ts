import type { JsonObject, JsonValue } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../support/api.ts'
import { failureOf, TestApi } from '../support/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start()
})
afterAll(() => api[Symbol.asyncDispose]())

const uid = (answer: Answer): string => answer.body.metadata['uid'] as string
const version = (answer: Answer): string => answer.body.metadata['resourceVersion'] as string

describe('create', () => {
  test('sets the fields that the server owns and ignores those of the client', async () => {
    const maps = await api.namespace('create-fields')
    const given = {
      uid: 'mine',
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      selfLink: '/x',
    }
    const { status, body } = await api.post(maps, { metadata: { name: 'a', ...given }, data: { k: 'v' } })
    expect(status).toBe(201)
    expect(Object.keys(body)).toEqual(['kind', 'apiVersion', 'metadata', 'data'])
    const { uid: made, creationTimestamp, resourceVersion, managedFields, ...rest } = body.metadata
    expect(rest).toEqual({ name: 'a', namespace: 'create-fields' })
    expect(made).toMatch(/^[0-9a-f-]{36}$/)
    expect(creationTimestamp).not.toBe('2001-01-01T00:00:00Z')
    expect(Number(resourceVersion)).toBeGreaterThan(1000)
    expect(managedFields).toHaveLength(1)
  })

  test('a generateName becomes a name; the server tries again when the name is taken', async () => {
    const numbers = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5]
    await using own = await TestApi.start({ random: () => numbers.shift() ?? 0.9 })
    const path = '/api/v1/namespaces/default/configmaps'
    const names = []
    for (let i = 0; i < 2; i++)
      names.push((await own.post(path, { metadata: { generateName: 'pre-' } })).body.metadata['name'])
    expect(names[0]).toBe('pre-bbbbb')
    expect(names[1]).not.toBe(names[0])
    expect(names[1]).toMatch(/^pre-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  })

  test('a generateName for which every attempt is taken is refused with AlreadyExists', async () => {
    await using own = await TestApi.start({ random: () => 0 })
    const path = '/api/v1/namespaces/default/configmaps'
    await own.post(path, { metadata: { generateName: 'pre-' } })
    expect(failureOf(await own.post(path, { metadata: { generateName: 'pre-' } }))).toMatchObject({
      status: 409,
      reason: 'AlreadyExists',
      message:
        'configmaps "pre-bbbbb" already exists, the server was not able to generate a unique name for the object',
    })
  })

  test('a dry run of a create returns the object without a resourceVersion and stores nothing', async () => {
    const maps = await api.namespace('create-dry')
    const { status, body } = await api.post(`${maps}?dryRun=All`, { metadata: { name: 'a' } })
    expect({ status, version: body.metadata['resourceVersion'], uid: typeof body.metadata['uid'] }).toEqual({
      status: 201,
      version: undefined,
      uid: 'string',
    })
    expect((await api.get(`${maps}/a`)).status).toBe(404)
  })

  test.each<[string, string[]]>([
    ['  name: y1\n  name: y2\n', ['299 - "line 4: key \\"name\\" already set in map"']],
    [
      '  name: y3\n  name: y4\nkind: ConfigMap\n',
      ['299 - "line 4: key \\"name\\" already set in map"', '299 - "line 5: key \\"kind\\" already set in map"'],
    ],
    ['  name: y5\nnope: 1\n', ['299 - "unknown field \\"nope\\""']],
  ])('repeated keys of YAML are one warning each: %j', async (rest, expected) => {
    const maps = await api.namespace('create-yaml')
    const { status, headers } = await api.post(`${maps}?fieldValidation=Warn`, `kind: ConfigMap\nmetadata:\n${rest}`, {
      contentType: 'application/yaml',
    })
    expect([status, headers['warning']]).toEqual([201, expected])
  })

  // k8s.io/apiserver: etcd3's store.Create parses it; DryRunnableStorage does not look at it.
  test.each([
    ['', '0', 201],
    ['', '', 201],
    ['', 'v1', 201],
    ['', '-1', 201],
    ['', '+1', 201],
    ['', ' 1', 201],
    ['', '1.0', 201],
    ['', '18446744073709551616', 201],
    ['', '18446744073709551615', 500],
    ['', '1', 500],
    ['', '007', 500],
    ['?dryRun=All', '1', 201],
    ['?dryRun=All', 'v1', 201],
  ])('a create%s with the resourceVersion %j responds %i', async (query, resourceVersion, expected) => {
    const maps = await api.namespace('create-version')
    const created = await api.post(`${maps}${query}`, { metadata: { generateName: 'a-', resourceVersion } })
    expect(created.status).toBe(expected)
    const { resourceVersion: given } = created.body.metadata ?? {}
    if (expected === 201 && query === '') expect(given).toMatch(/^[1-9]\d*$/)
    if (query !== '') expect(given).toBe(resourceVersion)
  })

  const refusals: [string, string, JsonValue, JsonObject][] = [
    [
      'a taken name',
      '',
      { metadata: { name: 'taken' } },
      {
        status: 409,
        reason: 'AlreadyExists',
        message: 'configmaps "taken" already exists',
        details: { name: 'taken', kind: 'configmaps' },
      },
    ],
    [
      'a taken name in a dry run',
      '?dryRun=All',
      { metadata: { name: 'taken' } },
      {
        status: 409,
        reason: 'AlreadyExists',
        message: 'configmaps "taken" already exists',
        details: { name: 'taken', kind: 'configmaps' },
      },
    ],
    [
      'a resourceVersion',
      '',
      { metadata: { name: 'a', resourceVersion: '7' } },
      { status: 500, message: 'resourceVersion should not be set on objects to be created' },
    ],
    [
      'another namespace',
      '',
      { metadata: { name: 'a', namespace: 'other' } },
      {
        status: 400,
        reason: 'BadRequest',
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      },
    ],
    [
      'an unknown option',
      '?dryRun=Some',
      { metadata: { name: 'a' } },
      {
        status: 422,
        reason: 'Invalid',
        message:
          'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
        details: {
          group: 'meta.k8s.io',
          kind: 'CreateOptions',
          causes: [
            {
              reason: 'FieldValueNotSupported',
              message: 'Unsupported value: ["Some"]: supported values: "All"',
              field: 'dryRun',
            },
          ],
        },
      },
    ],
  ]
  test.each(refusals)('creating with %s is refused', async (_name, query, body, expected) => {
    const maps = await api.namespace('create-refused')
    await api.post(maps, { metadata: { name: 'taken' } })
    expect(failureOf(await api.post(`${maps}${query}`, body))).toEqual(expected)
  })

  test('creating in a missing namespace is 404, in a terminating one 403', async () => {
    expect(failureOf(await api.post('/api/v1/namespaces/nowhere/configmaps', { metadata: { name: 'a' } }))).toEqual({
      status: 404,
      reason: 'NotFound',
      message: 'namespaces "nowhere" not found',
      details: { name: 'nowhere', kind: 'namespaces' },
    })
    const maps = await api.namespace('create-terminating')
    await api.delete('/api/v1/namespaces/create-terminating')
    expect(failureOf(await api.post(maps, { metadata: { name: 'a' } }))).toEqual({
      status: 403,
      reason: 'Forbidden',
      message:
        'configmaps "a" is forbidden: unable to create new content in namespace create-terminating because it is being terminated',
      details: {
        name: 'a',
        kind: 'configmaps',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace create-terminating is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
    })
  })
})

describe('field validation', () => {
  const body = '{"metadata":{"name":"a"},"bogus":1,"data":{"k":"1","k":"2"}}'
  test('warns about unknown and repeated fields by default', async () => {
    const maps = await api.namespace('validation-warn')
    const { status, headers, body: made } = await api.post(maps, body)
    expect({ status, data: made['data'] }).toEqual({ status: 201, data: { k: '2' } })
    expect(headers['warning']).toEqual(['299 - "unknown field \\"bogus\\""', '299 - "duplicate field \\"data.k\\""'])
  })

  test('refuses unknown fields under Strict and ignores them under Ignore', async () => {
    const maps = await api.namespace('validation-strict')
    expect((await api.post(`${maps}?fieldValidation=Strict`, body)).body['message']).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "bogus", duplicate field "data.k"',
    )
    const silent = await api.post(`${maps}?fieldValidation=Ignore`, body)
    expect({ status: silent.status, warning: silent.headers['warning'] }).toEqual({ status: 201, warning: undefined })
  })
})

describe('update', () => {
  test('an update that changes nothing keeps the revision', async () => {
    const maps = await api.namespace('update-noop')
    const made = await api.post(maps, { metadata: { name: 'a' }, data: { k: 'v' } })
    const same = await api.put(`${maps}/a`, { metadata: { name: 'a' }, data: { k: 'v' } })
    expect(same.body).toEqual(made.body)
  })

  test('the second of two writers with the same resourceVersion gets a conflict', async () => {
    const maps = await api.namespace('update-race')
    const made = await api.post(maps, { metadata: { name: 'a' } })
    const write = (value: string): Promise<Answer> =>
      api.put(`${maps}/a`, { metadata: { name: 'a', resourceVersion: version(made) }, data: { value } })
    const statuses = (await Promise.all([write('1'), write('2')])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 409])
  })

  const refusals: [string, string, JsonValue, number, string][] = [
    ['a missing name', 'nope', { metadata: { name: 'nope' } }, 404, 'configmaps "nope" not found'],
    [
      'another name',
      'a',
      { metadata: { name: 'b' } },
      400,
      'the name of the object (b) does not match the name on the URL (a)',
    ],
    [
      'no name',
      'a',
      { data: {} },
      400,
      'the name of the object (a based on URL) was undeterminable: name must be provided',
    ],
    [
      'a stale revision',
      'a',
      { metadata: { name: 'a', resourceVersion: '1' } },
      409,
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    ],
    [
      'a revision that is no number',
      'a',
      { metadata: { name: 'a', resourceVersion: 'x' } },
      500,
      'strconv.ParseUint: parsing "x": invalid syntax',
    ],
  ]
  test.each(refusals)('updating with %s is refused', async (_name, name, body, status, message) => {
    const maps = await api.namespace('update-refused')
    await api.post(maps, { metadata: { name: 'a' } })
    const answer = await api.put(`${maps}/${name}`, body)
    expect({ status: answer.status, message: answer.body['message'] }).toEqual({ status, message })
  })

  test("a uid that is not the object's is a conflict", async () => {
    const maps = await api.namespace('update-uid')
    await api.post(maps, { metadata: { name: 'a' } })
    const answer = await api.put(`${maps}/a`, { metadata: { name: 'a', uid: 'other' } })
    expect(answer.status).toBe(409)
    expect(answer.body['message']).toContain('Precondition failed: UID in precondition: other')
  })

  test('PUT creates objects of kinds that allow it, and some kinds then require a resourceVersion', async () => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/made-by-put'
    const made = await api.put(path, { metadata: { name: 'made-by-put' } })
    const blind = await api.put(path, { metadata: { name: 'made-by-put' } })
    const informed = await api.put(path, { metadata: { name: 'made-by-put', resourceVersion: version(made) } })
    expect([made, blind, informed].map(({ status }) => status)).toEqual([201, 422, 200])
    expect(blind.body['message']).toBe(
      'leases.coordination.k8s.io "made-by-put" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    )
  })
})

describe('delete', () => {
  test('a deletion returns the uid, the next one 404', async () => {
    const maps = await api.namespace('delete-plain')
    const made = await api.post(maps, { metadata: { name: 'a' } })
    expect((await api.delete(`${maps}/a`)).body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', kind: 'configmaps', uid: uid(made) },
    })
    expect((await api.delete(`${maps}/a`)).status).toBe(404)
  })

  test('a finalizer keeps a terminating object, and none can be added', async () => {
    const maps = await api.namespace('delete-finalizer')
    await api.post(maps, { metadata: { name: 'a', finalizers: ['example.com/f'] } })
    const marked = await api.delete(`${maps}/a`)
    expect(marked.body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0, finalizers: ['example.com/f'] })
    expect(
      (await api.merge(`${maps}/a`, { metadata: { finalizers: ['example.com/f', 'example.com/g'] } })).status,
    ).toBe(422)
    const last = await api.merge(`${maps}/a`, { metadata: { finalizers: null } })
    expect({ status: last.status, version: version(last) }).toEqual({ status: 200, version: version(marked) })
    expect((await api.get(`${maps}/a`)).status).toBe(404)
  })

  test.each([
    ['?propagationPolicy=Foreground', undefined, ['foregroundDeletion']],
    ['?orphanDependents=true', undefined, ['orphan']],
    ['', { propagationPolicy: 'Orphan' }, ['orphan']],
    ['?propagationPolicy=Orphan', { propagationPolicy: 'Foreground' }, ['foregroundDeletion']],
  ])('%s with the body %j leaves the work to the garbage collector', async (query, body, finalizers) => {
    const maps = await api.namespace('delete-propagation')
    await api.post(maps, { metadata: { name: 'a' } })
    expect((await api.delete(`${maps}/a${query}`, body)).body.metadata['finalizers']).toEqual(finalizers)
    await api.merge(`${maps}/a`, { metadata: { finalizers: null } })
  })

  test('a deletion whose preconditions fail is refused', async () => {
    const maps = await api.namespace('delete-preconditions')
    const made = await api.post(maps, { metadata: { name: 'a' } })
    const wrongUid = await api.delete(`${maps}/a`, { preconditions: { uid: 'other' } })
    expect(failureOf(wrongUid)).toEqual({
      status: 409,
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (${uid(made)}). The object might have been deleted and then recreated`,
      details: { name: 'a', kind: 'ConfigMap' },
    })
    expect(
      (await api.delete(`${maps}/a`, { preconditions: { uid: uid(made), resourceVersion: version(made) } })).status,
    ).toBe(200)
  })

  test('a dry run deletes nothing', async () => {
    const maps = await api.namespace('delete-dry')
    await api.post(maps, { metadata: { name: 'a' } })
    expect((await api.delete(`${maps}/a?dryRun=All`)).status).toBe(200)
    expect((await api.get(`${maps}/a`)).status).toBe(200)
  })

  test('a pod on a node is deleted after its grace period, which can only become shorter', async () => {
    const pods = '/api/v1/namespaces/default/pods'
    const pod = { metadata: { name: 'graceful' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } }
    await api.post(pods, pod)
    const grace = async (query: string): Promise<JsonValue | undefined> =>
      (await api.delete(`${pods}/graceful${query}`)).body.metadata['deletionGracePeriodSeconds']
    expect([
      await grace('?gracePeriodSeconds=20'),
      await grace('?gracePeriodSeconds=60'),
      await grace('?gracePeriodSeconds=5'),
      await grace(''),
    ]).toEqual([20, 20, 5, 5])
    await api.delete(`${pods}/graceful?gracePeriodSeconds=0`)
    expect((await api.get(`${pods}/graceful`)).status).toBe(404)
  })

  test('deleting a collection by selector returns the list before the deletion', async () => {
    const maps = await api.namespace('delete-collection')
    for (const [name, x] of [
      ['a', '1'],
      ['b', '1'],
      ['c', '2'],
    ])
      await api.post(maps, { metadata: { name: name!, labels: { x: x! } } })
    const { body } = await api.delete(`${maps}?labelSelector=x%3D1`)
    expect((body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect((await api.get(maps)).body['items']).toHaveLength(1)
  })

  test.each(['default', 'kube-system', 'kube-public'])('the namespace %s cannot be deleted', async (name) => {
    expect(failureOf(await api.delete(`/api/v1/namespaces/${name}`))).toMatchObject({
      status: 403,
      message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    })
  })
})

describe('routes', () => {
  const maps = '/api/v1/namespaces/default/configmaps'
  test.each([
    ['POST', `${maps}/a`, 405],
    ['PUT', maps, 405],
    ['PATCH', maps, 405],
    ['OPTIONS', maps, 405],
    ['FOO', maps, 405],
    ['HEAD', `${maps}/a`, 405],
    ['POST', '/api/v1/configmaps', 405],
    ['DELETE', '/api/v1/namespaces', 405],
    ['GET', '/api/v1/configmaps/a', 404],
    ['GET', '/api/v1/nopes', 404],
    ['GET', '/apis/apps/v9/deployments', 404],
    ['GET', `${maps}/a/scale`, 404],
    ['GET', `${maps}/a/b/c/d`, 404],
    ['GET', '/api/v1/namespaces/%zz', 400],
  ])('%s %s is %i', async (method, path, status) => {
    expect((await api.send(method, path)).status).toBe(status)
  })

  test.each(['/nope', '/apis/nope.example.com/v1', '/apis/nope.example.com/v1/namespaces/default/things'])(
    '%s is not found',
    async (path) => {
      const { status, headers, text } = await api.get(path)
      expect({ status, type: headers['content-type'], text }).toEqual({
        status: 404,
        type: 'text/plain; charset=utf-8',
        text: '404 page not found\n',
      })
    },
  )

  test.each([
    ['text/html', 406],
    ['application/json;as=Nope;g=meta.k8s.io;v=v1', 406],
    ['application/json;as=Table;g=meta.k8s.io;v=v9', 406],
    ['*/*', 200],
    ['application/xml, application/json', 200],
    ['application/json;q=0', 406],
    ['application/vnd.kubernetes.protobuf', 200],
  ])('Accept: %s gives %i', async (accept, status) => {
    expect((await api.get(maps, { accept })).status).toBe(status)
  })

  test('a client that accepts YAML gets YAML, errors too', async () => {
    const { headers, text } = await api.get(`${maps}/zz`, { accept: 'application/yaml' })
    expect(headers['content-type']).toBe('application/yaml')
    expect(text).toBe(
      'apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: zz\nkind: Status\nmessage: configmaps "zz" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n',
    )
  })

  test('browsers and curl get indented JSON', async () => {
    expect((await api.get(`${maps}/zz`, { userAgent: 'curl/8.0' })).text).toContain('{\n  "kind": "Status",\n')
    expect((await api.get(`${maps}/zz?pretty=false`, { userAgent: 'curl/8.0' })).text).toContain('{"kind":"Status",')
  })
})

describe('subresources', () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments'
  const deployment = {
    metadata: { name: 'd' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'd' } },
      template: { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
    },
    status: { replicas: 9 },
  }

  test("status and the rest keep out of each other's way, and generation counts the rest", async () => {
    await api.post(deployments, deployment)
    const status = await api.merge(`${deployments}/d/status`, { spec: { replicas: 7 }, status: { replicas: 2 } })
    expect(status.body).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 2 }, metadata: { generation: 1 } })
    const main = await api.merge(`${deployments}/d`, { spec: { replicas: 7 }, status: { replicas: 3 } })
    expect(main.body).toMatchObject({ spec: { replicas: 7 }, status: { replicas: 2 }, metadata: { generation: 2 } })
  })

  test('the scale subresource reads and writes the replicas', async () => {
    await api.post(deployments, { ...deployment, metadata: { name: 'scaled' } })
    const scaled = await api.merge(`${deployments}/scaled/scale`, { spec: { replicas: 4 } })
    expect(scaled.body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 4 },
      status: { replicas: 0, selector: 'app=d' },
    })
    expect((await api.get(`${deployments}/scaled`)).body['spec']).toMatchObject({ replicas: 4 })
    expect(failureOf(await api.merge(`${deployments}/scaled/scale`, { spec: { replicas: -1 } }))).toMatchObject({
      status: 422,
      reason: 'Invalid',
    })
  })

  test('a pod is bound once, and an eviction deletes it', async () => {
    const pods = '/api/v1/namespaces/default/pods'
    await api.post(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } })
    const bind = (): Promise<Answer> =>
      api.post(`${pods}/p/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'p' },
        target: { kind: 'Node', name: 'n1' },
      })
    expect((await bind()).status).toBe(201)
    expect(failureOf(await bind())).toMatchObject({
      status: 409,
      message: 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    })
    expect((await api.get(`${pods}/p`)).body['spec']).toMatchObject({ nodeName: 'n1' })
    const evicted = await api.post(`${pods}/p/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'p' },
      deleteOptions: { gracePeriodSeconds: 0 },
    })
    expect(evicted.status).toBe(201)
    expect((await api.get(`${pods}/p`)).status).toBe(404)
  })

  test('logs are empty for a pod that never ran, 404 with a reason without a runner, and 404 for a missing pod', async () => {
    const pods = '/api/v1/namespaces/default/pods'
    const pod = (name: string, spec: JsonObject): JsonValue => ({
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    })
    await api.post(pods, pod('waiting', {}))
    await api.post(pods, pod('placed', { nodeName: 'n' }))
    const answers = await Promise.all(['waiting', 'placed', 'nobody'].map((name) => api.get(`${pods}/${name}/log`)))
    expect(answers.map(({ status }) => status)).toEqual([204, 404, 404])
    expect(answers[0]!.text).toBe('')
    expect(answers[1]!.body['message']).toContain('nothing in this server runs it')
    expect((await api.post(`${pods}/waiting/exec?command=ls`, '')).body['message']).toBe(
      'pod waiting does not have a host assigned',
    )
  })

  test('logs come from the podLogs option of the server', async () => {
    await using own = await TestApi.start({
      podLogs: (pod, { tailLines }) =>
        (async function* () {
          yield new TextEncoder().encode(`${pod.metadata.name}: ${tailLines} lines\n`)
        })(),
    })
    const pods = '/api/v1/namespaces/default/pods'
    await own.post(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } })
    expect((await own.get(`${pods}/p/log?tailLines=3`)).text).toBe('p: 3 lines\n')
  })

  test('a namespace is removed with the last finalizer of its spec and its metadata', async () => {
    await api.post('/api/v1/namespaces', { metadata: { name: 'held', finalizers: ['example.com/hold'] } })
    await api.delete('/api/v1/namespaces/held')
    await api.put('/api/v1/namespaces/held/finalize', {
      metadata: { name: 'held', finalizers: ['example.com/hold'] },
      spec: { finalizers: [] },
    })
    expect((await api.get('/api/v1/namespaces/held')).status).toBe(200)
    await api.merge('/api/v1/namespaces/held', { metadata: { finalizers: null } })
    expect((await api.get('/api/v1/namespaces/held')).status).toBe(404)
  })
})
