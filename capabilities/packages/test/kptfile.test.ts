// Kptfiles: strict reading with go-yaml's messages, and edits that keep comments.
import { describe, expect, test } from 'vitest'
import { editKptfile, PackageError, parseKptfile } from '@fairlead/packages'

function errorOf(source: string): { code: string; line: number | undefined; message: string } {
  try {
    parseKptfile(source, 'sub/Kptfile')
  } catch (error) {
    if (error instanceof PackageError) return { code: error.code, line: error.line, message: error.message }
    throw error
  }
  throw new Error('the Kptfile was accepted')
}

const head = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n'

describe('a Kptfile is read', () => {
  test('with every field of kpt.dev/v1', () => {
    const kptfile = parseKptfile(`apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
  labels: {team: a}
  annotations: {config.kubernetes.io/local-config: "true"}
upstream:
  type: git
  git: {repo: r, directory: /d, ref: v1}
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git: {repo: r, directory: /d, ref: v1, commit: abc}
info:
  site: s
  emails: [a@example.org]
  license: Apache-2.0
  licenseFile: LICENSE
  description: d
  keywords: [k]
  man: m
  readinessGates:
    - conditionType: example.org/ready
pipeline:
  mutators:
    - image: set-labels
      tag: ~0.2
      name: labels
      configMap: {replicas: 3}
      selectors: [{kind: Deployment, labels: {a: b}}]
      exclude: [{apiVersion: v1, name: n, namespace: ns, annotations: {c: d}}]
  validators:
    - exec: ./check
      configPath: check.yaml
inventory: {namespace: ns, name: n, inventoryID: i, labels: {a: b}, annotations: {c: d}}
status:
  conditions:
    - {type: Rendered, status: "True", reason: RenderSuccess, message: done}
  renderStatus:
    mutationSteps:
      - image: set-labels
        exitCode: 0
        results: [{message: m, severity: info, file: {path: a.yaml, index: 1}, field: {path: p, currentValue: 1}}]
    errorSummary: none
`)
    expect(kptfile).toEqual({
      apiVersion: 'kpt.dev/v1',
      kind: 'Kptfile',
      metadata: {
        name: 'app',
        labels: { team: 'a' },
        annotations: { 'config.kubernetes.io/local-config': 'true' },
      },
      upstream: { type: 'git', git: { repo: 'r', directory: '/d', ref: 'v1' }, updateStrategy: 'resource-merge' },
      upstreamLock: { type: 'git', git: { repo: 'r', directory: '/d', ref: 'v1', commit: 'abc' } },
      info: {
        site: 's',
        emails: ['a@example.org'],
        license: 'Apache-2.0',
        licenseFile: 'LICENSE',
        description: 'd',
        keywords: ['k'],
        man: 'm',
        readinessGates: [{ conditionType: 'example.org/ready' }],
      },
      pipeline: {
        mutators: [
          {
            image: 'set-labels',
            tag: '~0.2',
            name: 'labels',
            configMap: { replicas: '3' },
            selectors: [{ kind: 'Deployment', labels: { a: 'b' } }],
            exclude: [{ apiVersion: 'v1', name: 'n', namespace: 'ns', annotations: { c: 'd' } }],
          },
        ],
        validators: [{ exec: './check', configPath: 'check.yaml' }],
      },
      inventory: { namespace: 'ns', name: 'n', inventoryID: 'i', labels: { a: 'b' }, annotations: { c: 'd' } },
      status: {
        conditions: [{ type: 'Rendered', status: 'True', reason: 'RenderSuccess', message: 'done' }],
        renderStatus: {
          mutationSteps: [
            {
              image: 'set-labels',
              exitCode: 0,
              results: [
                {
                  message: 'm',
                  severity: 'info',
                  file: { path: 'a.yaml', index: 1 },
                  field: { path: 'p', currentValue: 1 },
                },
              ],
            },
          ],
          errorSummary: 'none',
        },
      },
    })
  })

  test.each([
    [
      'a field that does not exist',
      `${head}pipeline:\n  mutators:\n    - image: a\n      targetResources: []\n`,
      8,
      'yaml: unmarshal errors:\n  line 8: field targetResources not found in type v1.Function',
    ],
    [
      'a misspelt field at the top',
      `${head}pipelines: {}\n`,
      5,
      'line 5: field pipelines not found in type v1.KptFile',
    ],
    ['a map in place of a string', `${head}info:\n  site: {a: b}\n`, 6, 'cannot unmarshal !!map into string'],
    ['a string in place of a list', `${head}info:\n  emails: x\n`, 6, 'cannot unmarshal !!str `x` into []string'],
    ['a list in place of the pipeline', `${head}pipeline: []\n`, 5, 'cannot unmarshal !!seq into v1.Pipeline'],
    ['a key that stands twice', `${head}info:\n  site: a\n  site: b\n`, 7, 'mapping key "site" already defined'],
    ['an old version', head.replace('v1', 'v1alpha1'), undefined, 'old resource version "v1alpha1" found in Kptfile'],
    [
      'another kind',
      head.replace('Kptfile', 'ConfigMap'),
      undefined,
      'unknown resource type "kpt.dev/v1, Kind=ConfigMap" found in Kptfile',
    ],
    ['an empty file', '', undefined, 'the Kptfile is no map'],
    ['a list', '- a\n', undefined, 'the Kptfile is no map'],
    ['what is no YAML', `${head}  broken: [\n`, 6, 'the Kptfile is no valid YAML'],
  ])('and refused for %s', (_, source, line, message) => {
    const error = errorOf(source)
    expect({ code: error.code, line: error.line }).toEqual({ code: 'InvalidKptfile', line })
    expect(error.message).toContain('sub/Kptfile')
    expect(error.message).toContain(message)
  })
})

test('an edit of a Kptfile keeps comments, order and list indentation', () => {
  const source = `# licence
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app # the name
pipeline:
  # first labels
  mutators:
  - image: set-labels # pinned
    configMap:
      app: x
`
  const edited = editKptfile(source, (document) => {
    document.setIn(['metadata', 'name'], 'web')
    document.setIn(['pipeline', 'mutators', 0, 'configMap', 'app'], 'yes')
  })
  expect(edited).toBe(source.replace('name: app', 'name: web').replace('app: x', 'app: "yes"'))
})
