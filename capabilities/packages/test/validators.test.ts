// Validators: kubeconform by the package's own definitions, validate-cel by rules.
import { describe, expect, test } from 'vitest'
import { functionOf, renderPackage } from '@fairlead/packages'
import type { Kptfile } from '@fairlead/packages'

type Steps = NonNullable<NonNullable<Kptfile['status']>['renderStatus']>['validationSteps']

async function validate(kptfile: string, files: Readonly<Record<string, string>>): Promise<Steps> {
  const head = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  validators:\n'
  const outcome = await renderPackage(
    new Map([['Kptfile', head + kptfile], ...Object.entries(files)]),
    {
      inProcess: ({ image = '' }) => functionOf(image),
      run: async () => await Promise.reject(new Error('no function runs elsewhere')),
    },
    { signal: new AbortController().signal },
  )
  return outcome.status?.validationSteps
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shops.example.org
spec:
  group: example.org
  names: {kind: Shop, plural: shops}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [size]
              properties:
                size: {type: integer}
                port: {x-kubernetes-int-or-string: true}
`

const shop = (spec: string): string => `apiVersion: example.org/v1\nkind: Shop\nmetadata:\n  name: s\nspec: ${spec}\n`

describe('kubeconform', () => {
  const strict = '    - image: kubeconform\n      configMap:\n        strict: "true"\n'
  const issue = (message: string, path: string): object => ({
    message,
    severity: 'error',
    resourceRef: { apiVersion: 'example.org/v1', kind: 'Shop', name: 's' },
    field: { path },
    file: { path: 'shop.yaml' },
  })

  test.each([
    ['{size: 1, port: web}', undefined],
    ['{port: 80}', [issue("missing property 'size'", 'spec')]],
    ['{size: 1, port: [80]}', [issue('got array, want null or integer or string', 'spec.port')]],
    ['{size: 1, colour: red}', [issue("additional properties 'colour' not allowed", 'spec')]],
  ])('checks %s by the definition in the package', async (spec, results) => {
    const steps = await validate(strict, { 'crd.yaml': definition, 'shop.yaml': shop(spec) })
    expect(steps?.[0]?.results).toEqual(results)
  })

  test('says nothing about kinds without a schema unless it is asked to', async () => {
    expect((await validate(strict, { 'shop.yaml': shop('{}') }))?.[0]?.results).toBeUndefined()
    const asked = `${strict}        ignore_missing_schemas: "false"\n`
    expect((await validate(asked, { 'shop.yaml': shop('{}') }))?.[0]?.results).toMatchObject([
      { message: 'could not find schema for Shop' },
    ])
  })

  test('refuses schemas from elsewhere', async () => {
    const remote = '    - image: kubeconform\n      configMap:\n        schema_location: https://example.org\n'
    expect((await validate(remote, { 'shop.yaml': shop('{}') }))?.[0]).toMatchObject({ exitCode: 1 })
  })
})

describe('validate-cel', () => {
  const rules = (text: string): string =>
    `apiVersion: fn.fairlead.dev/v1alpha1\nkind: ValidateCEL\nmetadata:\n  name: rules\n  annotations:\n    config.kubernetes.io/local-config: "true"\nrules:\n${text}`
  const step = '    - image: validate-cel\n      configPath: rules.yaml\n'
  const check = async (text: string): Promise<object | undefined> =>
    (await validate(step, { 'rules.yaml': rules(text), 'shop.yaml': shop('{size: 2}') }))?.[0]

  test('passes when every rule holds', async () => {
    expect(
      await check('  - name: size\n    match: {kind: Shop}\n    expression: object.spec.size > 1\n'),
    ).toMatchObject({
      exitCode: 0,
    })
  })

  test('fails with the message of the rule, the resource and the field', async () => {
    const text = `  - name: size
    match: {kind: Shop}
    expression: object.spec.size > 2
    messageExpression: "'size is ' + string(object.spec.size)"
    fieldPath: spec.size
`
    expect(await check(text)).toMatchObject({
      exitCode: 1,
      results: [
        {
          message: 'size is 2',
          severity: 'error',
          resourceRef: { apiVersion: 'example.org/v1', kind: 'Shop', name: 's' },
          field: { path: 'spec.size' },
          file: { path: 'shop.yaml' },
          tags: { rule: 'size' },
        },
      ],
    })
  })

  test('passes with a warning when the rule is one', async () => {
    const text =
      '  - name: size\n    match: {kind: Shop}\n    expression: object.spec.size > 2\n    severity: warning\n'
    expect(await check(text)).toMatchObject({ exitCode: 0, results: [{ severity: 'warning' }] })
  })

  test('sees all resources', async () => {
    const text =
      '  - name: one\n    match: {kind: Shop}\n    expression: resources.filter(r, r.kind == "Shop").size() == 1\n'
    expect(await check(text)).toMatchObject({ exitCode: 0 })
  })

  test.each([
    ['  - name: bad\n    expression: object.\n', /^rule bad: /],
    ['  - name: bad\n    match: {kind: Shop}\n    expression: object.none > 1\n', /^rule bad could not be evaluated: /],
    ['  - name: bad\n    expression: "true"\n    severity: fatal\n', /severity must be error, warning or info$/],
  ])('fails for the rule %j', async (text, message) => {
    expect(await check(text)).toMatchObject({
      exitCode: 1,
      results: [{ message: expect.stringMatching(message) as string }],
    })
  })
})
