// Common uses of kubectl, with real binaries of the oldest and newest supported version, against the embedded server.
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigMap } from '@fairlead/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { findKubectl, Kubectl } from '../support/kubectl.ts'

const versions = ['1.27', '1.33'].map((minor) => ({ minor, path: findKubectl(minor) }))
for (const { minor, path } of versions)
  if (path === undefined) console.log(`kubectl ${minor} is not here (KUBECTL names one): its transcripts are skipped`)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.harbour.example.com}
spec:
  group: harbour.example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, listKind: BoatList, shortNames: [bt], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.masts, statusReplicasPath: .status.masts}}
    additionalPrinterColumns:
    - {name: Length, type: integer, jsonPath: .spec.length}
    schema:
      openAPIV3Schema:
        type: object
        description: A boat in the harbour.
        properties:
          spec:
            type: object
            description: What the boat should be.
            required: [length]
            properties:
              length: {type: integer, minimum: 1, description: From bow to stern in metres.}
              masts: {type: integer, default: 1}
          status:
            type: object
            properties:
              masts: {type: integer}
              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const boat = (length: number | string): string => `
apiVersion: harbour.example.com/v1
kind: Boat
metadata: {name: otter, labels: {fleet: north}}
spec: {length: ${length}}
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1'}]}
`

describe.each(versions.filter((version) => version.path !== undefined))('kubectl $minor', ({ minor, path }) => {
  let server: ApiServer
  let kubectl: Kubectl

  beforeAll(async () => {
    server = await ApiServer.start({ authorization: 'RBAC' })
    kubectl = new Kubectl(path as string, (await server.listen()).kubeconfig)
    await says(
      ['create', '-f', '-'],
      'customresourcedefinition.apiextensions.k8s.io/boats.harbour.example.com created\n',
      definition,
    )
    await says(
      ['wait', '--for=condition=Established', 'crd/boats.harbour.example.com', '--timeout=80s'],
      'customresourcedefinition.apiextensions.k8s.io/boats.harbour.example.com condition met\n',
    )
  })

  afterAll(async () => {
    kubectl?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  /** Runs and expects exactly this on standard output, and success. */
  async function says(args: readonly string[], expected: string | RegExp, stdin?: string): Promise<void> {
    const result = await kubectl.run(args, stdin)
    expect({ args, ...result }).toEqual({
      args,
      exitCode: 0,
      stdout: typeof expected === 'string' ? expected : expect.stringMatching(expected),
      stderr: expect.any(String) as string,
    })
  }

  /** Runs and expects failure with exactly this on standard error. */
  async function refuses(args: readonly string[], expected: string | RegExp, stdin?: string): Promise<void> {
    const result = await kubectl.run(args, stdin)
    expect({ args, ...result }).toEqual({
      args,
      exitCode: 1,
      stdout: '',
      stderr: typeof expected === 'string' ? expected : expect.stringMatching(expected),
    })
  }

  test('apply, get, describe, explain, patch, scale and delete a custom resource', async () => {
    await refuses(
      ['apply', '-f', '-'],
      /The Boat "otter" is invalid: spec.length: Invalid value: 0: spec.length in body should be greater than or equal to 1/,
      boat(0),
    )
    await says(['apply', '-f', '-'], 'boat.harbour.example.com/otter created\n', boat(9))
    await says(['apply', '-f', '-'], 'boat.harbour.example.com/otter unchanged\n', boat(9))
    await says(['apply', '-f', '-'], 'boat.harbour.example.com/otter configured\n', boat(10))
    await says(
      ['get', 'bt', '--no-headers', '-o', 'custom-columns=N:.metadata.name,L:.spec.length,M:.spec.masts'],
      'otter   10    1\n',
    )
    await says(['get', 'boats'], /^NAME +LENGTH\notter +10\n$/)
    await says(['get', 'boats', '-l', 'fleet=south', '-o', 'name'], '')
    await says(
      ['get', 'boats', '--field-selector', 'metadata.name=otter', '-o', 'jsonpath={.items[*].spec.length}'],
      '10',
    )
    await says(['explain', 'boat.spec.length'], /From bow to stern in metres\./)
    await says(['describe', 'boat', 'otter'], /Name: +otter\n[\s\S]*Spec:\n +Length: +10\n +Masts: +1\n/)
    await says(
      ['patch', 'boat', 'otter', '--type=merge', '-p', '{"spec":{"masts":2}}'],
      'boat.harbour.example.com/otter patched\n',
    )
    await says(
      ['patch', 'boat', 'otter', '--type=json', '-p', '[{"op":"replace","path":"/spec/length","value":11}]'],
      'boat.harbour.example.com/otter patched\n',
    )
    await says(['scale', 'boat/otter', '--replicas=3'], 'boat.harbour.example.com/otter scaled\n')
    await says(
      [
        'patch',
        'boat',
        'otter',
        '--subresource=status',
        '--type=merge',
        '-p',
        '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}',
      ],
      'boat.harbour.example.com/otter patched\n',
    )
    await says(
      ['wait', '--for=condition=Ready', 'boat/otter', '--timeout=80s'],
      'boat.harbour.example.com/otter condition met\n',
    )
    await says(['label', 'boat', 'otter', 'crew=full'], 'boat.harbour.example.com/otter labeled\n')
    await says(['annotate', 'boat', 'otter', 'note=swift'], /^boat.harbour.example.com\/otter annotated?\n$/)
    await says(['get', 'all'], /boat.harbour.example.com\/otter/)
    await says(['delete', 'boat', 'otter'], /^boat.harbour.example.com "otter" deleted/)
    await refuses(
      ['get', 'boat', 'otter'],
      'Error from server (NotFound): boats.harbour.example.com "otter" not found\n',
    )
  })

  test('server-side apply, conflicts and force', async () => {
    await says(['apply', '--server-side', '-f', '-'], 'boat.harbour.example.com/otter serverside-applied\n', boat(5))
    await refuses(
      ['apply', '--server-side', '--field-manager=other', '-f', '-'],
      /conflict with "kubectl": \.spec\.length/,
      boat(6),
    )
    await says(
      ['apply', '--server-side', '--field-manager=other', '--force-conflicts', '-f', '-'],
      'boat.harbour.example.com/otter serverside-applied\n',
      boat(6),
    )
    const diff = await kubectl.run(['diff', '--server-side', '--force-conflicts', '-f', '-'], boat(7))
    expect({
      exitCode: diff.exitCode,
      changed: diff.stdout.split('\n').filter((line) => /^[-+] {2}length/.test(line)),
    }).toEqual({ exitCode: 1, changed: ['-  length: 6', '+  length: 7'] })
    await says(['delete', 'boat', 'otter', '--wait=true'], /deleted/)
  })

  test('typed commands: config maps, secrets, roles, deployments', async () => {
    await says(['create', 'configmap', 'tide', '--from-literal=high=noon'], 'configmap/tide created\n')
    await says(['get', 'configmap', 'tide', '-o', 'jsonpath={.data.high}'], 'noon')
    await says(['create', 'secret', 'generic', 'key', '--from-literal=a=b'], 'secret/key created\n')
    await says(['get', 'secret', 'key', '-o', 'jsonpath={.data.a}'], 'Yg==')
    await says(['create', 'namespace', 'dock'], 'namespace/dock created\n')
    await says(['create', 'serviceaccount', 'pilot', '-n', 'dock'], 'serviceaccount/pilot created\n')
    await says(
      ['create', 'role', 'reader', '--verb=get,list', '--resource=configmaps', '-n', 'dock'],
      'role.rbac.authorization.k8s.io/reader created\n',
    )
    await says(
      ['create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=dock:pilot', '-n', 'dock'],
      'rolebinding.rbac.authorization.k8s.io/reader created\n',
    )
    await says(['auth', 'can-i', 'list', 'configmaps', '-n', 'dock', '--as=system:serviceaccount:dock:pilot'], 'yes\n')
    const refused = await kubectl.run([
      'auth',
      'can-i',
      'delete',
      'configmaps',
      '-n',
      'dock',
      '--as=system:serviceaccount:dock:pilot',
    ])
    expect({ stdout: refused.stdout, exitCode: refused.exitCode }).toEqual({ stdout: 'no\n', exitCode: 1 })
    await refuses(
      ['get', 'secrets', '-n', 'dock', '--as=system:serviceaccount:dock:pilot'],
      'Error from server (Forbidden): secrets is forbidden: User "system:serviceaccount:dock:pilot" cannot list resource "secrets" in API group "" in the namespace "dock"\n',
    )
    await says(['create', 'token', 'pilot', '-n', 'dock'], /^[\w-]+\.[\w-]+\.[\w-]+\n?$/)
    await says(['apply', '-f', '-'], 'deployment.apps/web created\n', deployment)
    await says(['set', 'image', 'deployment/web', 'web=nginx:2'], 'deployment.apps/web image updated\n')
    await says(['scale', 'deployment', 'web', '--replicas=4'], 'deployment.apps/web scaled\n')
    await says(
      ['get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}'],
      '4 nginx:2',
    )
    await says(['delete', 'deployment', 'web', '--cascade=foreground'], /deleted/)
    await says(['delete', 'namespace', 'dock', '--timeout=80s'], /^namespace "dock" deleted\n$/)
    await refuses(['get', 'namespace', 'dock'], 'Error from server (NotFound): namespaces "dock" not found\n')
  })

  test('a stream of kubectl get -w shows what happens', async () => {
    await kubectl.run(['create', 'configmap', 'seen', '--from-literal=a=b'])
    const words = (stdout: string): string[] => stdout.split(' ').slice(0, -1)
    let ended = false
    const watched = kubectl
      .watch(['get', 'configmap', 'seen', '-w', '-o', 'jsonpath={.data.a} '], (stdout) => words(stdout).length > 5)
      .finally(() => (ended = true))
    const written = ['b']
    while (!ended) {
      written.push(`v${written.length}`)
      await server.client().patch(ConfigMap, 'default/seen', { merge: { data: { a: written.at(-1)! } } })
      await delay(20)
    }
    const shown = words(await watched)
    // What it read first, and from wherever its watch began every version in order: kubectl drops the first event,
    // which may be of a later version than what it read.
    const [first, ...events] = shown
    expect(written).toContain(first)
    const begin = written.indexOf(events[0]!)
    expect(begin).toBeGreaterThan(written.indexOf(first!))
    expect(events).toEqual(written.slice(begin, begin + events.length))
  })

  test('errors of kubectl name what is wrong', async () => {
    await refuses(['get', 'ships'], 'error: the server doesn\'t have a resource type "ships"\n')
    await refuses(['create', '-f', '-'], /unknown field "spec.lenght"/, boat(3).replace('length', 'lenght'))
    // Later versions add the namespace, and `error: ` before it.
    const notFound = {
      '1.27': 'Error from server (NotFound): pods "absent" not found\n',
      '1.33': 'error: error from server (NotFound): pods "absent" not found in namespace "default"\n',
    }[minor]!
    await refuses(['logs', 'absent'], notFound)
  })
})
