// Names and lifecycle of package revisions.
import { describe, expect, test } from 'vitest'
import { enforcesGates, lifecycles, transition, unmetGates } from '../src/engine/lifecycle.ts'
import type { LifecycleVerb } from '../src/engine/lifecycle.ts'
import * as names from '../src/engine/names.ts'

describe('names', () => {
  test.each([
    [
      'edge-1.net.web.packagevariant-2',
      { repository: 'edge-1', packageName: 'net/web', workspaceName: 'packagevariant-2' },
    ],
    ['repo.pkg.ws', { repository: 'repo', packageName: 'pkg', workspaceName: 'ws' }],
    ['repo.pkg.v1.2.3', { repository: 'repo', packageName: 'pkg', workspaceName: 'v1.2.3' }],
    ['repo.pkg.v1', { repository: 'repo', packageName: 'pkg', workspaceName: 'v1' }],
  ])('%s is composed of its parts and parsed to them', (name, parts) => {
    expect(names.packageRevisionName(parts)).toBe(name)
    expect(names.parsePackageRevisionName(name)).toEqual(parts)
  })

  test.each(['', 'hello', 'hello.there', '.', 'v.', 'repo.'])('%j names no package revision', (name) => {
    expect(names.parsePackageRevisionName(name)).toBeUndefined()
  })

  test('the UID of a revision depends on its name alone, as in Porch', () => {
    expect(names.stableUid('my-prefix', 'my-namespace', 'my.kube.name.of-something')).toBe(
      '272983f7-a30d-58e0-a809-c38e8638666d',
    )
  })

  test('a package path is free only outside of every other package', () => {
    const overlap = (path: string): string | undefined => names.overlappingPackage(path, ['net/web', 'db'])
    expect(['net/web/sub', 'net', 'net/web2', 'net/web', 'd'].map(overlap)).toEqual([
      'net/web',
      'net/web',
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('lifecycle', () => {
  test('the table of allowed requests', () => {
    const verbs: LifecycleVerb[] = ['update', 'approval', 'resources', 'delete']
    const allowed = verbs.map((verb) => [
      verb,
      lifecycles.flatMap((from) => {
        const targets = verb === 'delete' ? [null] : verb === 'resources' ? [from] : lifecycles
        return targets.filter((to) => transition(from, to, verb) === undefined).map((to) => `${from}->${to}`)
      }),
    ])
    expect(Object.fromEntries(allowed)).toEqual({
      update: [
        'Draft->Draft',
        'Draft->Proposed',
        'Proposed->Draft',
        'Proposed->Proposed',
        'Published->Published',
        'Published->DeletionProposed',
        'DeletionProposed->Published',
        'DeletionProposed->DeletionProposed',
      ],
      approval: [
        'Proposed->Draft',
        'Proposed->Published',
        'Published->DeletionProposed',
        'DeletionProposed->Published',
      ],
      resources: ['Draft->Draft'],
      delete: ['Draft->null', 'Proposed->null', 'DeletionProposed->null'],
    })
  })

  test('a refusal says what is allowed instead', () => {
    expect(transition('Draft', 'Published', 'approval')).toEqual({
      reason: 'Invalid',
      errors: [
        {
          type: 'FieldValueInvalid',
          field: 'spec.lifecycle',
          badValue: 'Draft',
          detail: 'cannot approve package with Draft lifecycle value; only Proposed packages can be approved',
        },
      ],
    })
    expect(transition('Published', null, 'delete')).toEqual({
      reason: 'Forbidden',
      message:
        "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion",
    })
  })

  test('gates count in deployment repositories unless an annotation decides otherwise', () => {
    const gates = (deployment: boolean, value?: string): boolean =>
      enforcesGates({
        deployment,
        annotations: value === undefined ? {} : { 'config.porch.kpt.dev/enforce-gates': value },
      })
    expect([gates(true), gates(false), gates(false, 'always'), gates(true, 'never'), gates(true, 'other')]).toEqual([
      true,
      false,
      true,
      false,
      true,
    ])
    expect(
      unmetGates(
        [{ conditionType: 'a' }, { conditionType: 'b' }, { conditionType: 'c' }],
        [
          { type: 'a', status: 'True' },
          { type: 'b', status: 'False' },
        ],
      ),
    ).toEqual(['b', 'c'])
  })
})
