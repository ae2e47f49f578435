// Validation of CustomResourceDefinitions against the responses of a real kube-apiserver
// (shared/kubernetes/recordings).
import { expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import {
  applyJsonPatch,
  applyMergePatch,
  asObject,
  customResourceDefinitionWarnings,
  defaultCustomResourceDefinition,
  fieldErrorBody,
  parseJson,
  validateCustomResourceDefinition,
} from '@fairlead/kube'
import { describeData, readData } from '../../../test/support/conformance-data.ts'

interface Step {
  readonly request?: {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: JsonObject
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string | string[]>>
    readonly body: JsonObject
  }
}

interface Scenario {
  readonly name: string
  readonly steps: readonly Step[]
}

function scenarios(area: string): readonly Scenario[] {
  // Run ids have 8 characters and start with a letter.
  const text = readData('kubernetes', 'recordings', `${area}.json`).replaceAll('{{id}}', 'bcdfghjk')
  return parseJson(text) as unknown as readonly Scenario[]
}

const isDefinition = (step: Step): boolean => /\/customresourcedefinitions(?:\?|$)/.test(step.request?.path ?? '')
const isOneDefinition = (step: Step): boolean => /\/customresourcedefinitions\/[^/?]+$/.test(step.request?.path ?? '')

function causesOf(step: Step): string[] {
  const details = step.response.body['details'] as
    | { causes?: readonly { field: string; message: string }[] }
    | undefined
  return (details?.causes ?? []).map((cause) => `${cause.field}: ${cause.message}`).sort()
}

function errorsOf(crd: KubeObject, old?: KubeObject): string[] {
  return validateCustomResourceDefinition(crd, old)
    .map((error) => `${error.field}: ${fieldErrorBody(error)}`)
    .sort()
}

const areas = ['crd', 'cel', 'apply', 'table', 'discovery', 'list', 'watch']

const creations = () =>
  areas.flatMap((area) =>
    scenarios(area).flatMap((scenario) =>
      scenario.steps.flatMap((step, at) =>
        step.request?.method === 'POST' && isDefinition(step) && step.request.body !== undefined
          ? [{ title: `${scenario.name} [${at}]`, step, body: step.request.body }]
          : [],
      ),
    ),
  )

/** Returns the recorded patches of definitions, each with the last response of the definition. */
const updates = () =>
  areas.flatMap((area) =>
    scenarios(area).flatMap((scenario) => {
      let served: KubeObject | undefined
      return scenario.steps.flatMap((step, at) => {
        const old = served
        const body = step.response?.body as JsonObject | undefined
        if (body?.['kind'] === 'CustomResourceDefinition') served = asObject(body)
        const isPatch = step.request?.method === 'PATCH' && isOneDefinition(step) && old !== undefined
        return isPatch ? [{ title: `${scenario.name} [${at}]`, step, old }] : []
      })
    }),
  )

function patched(old: KubeObject, { request }: Step): KubeObject {
  const type = request!.headers['Content-Type']
  const document = old as unknown as JsonObject
  const result =
    type === 'application/json-patch+json'
      ? applyJsonPatch(document, request!.body!)
      : applyMergePatch(document, request!.body!)
  return { ...asObject(result as JsonObject), status: old['status'] }
}

describeData('recorded creations of CustomResourceDefinitions', { minimum: 100, read: creations }, (cases) => {
  test.each(cases)('$title', ({ step, body }) => {
    const crd = defaultCustomResourceDefinition(asObject(body))
    const isRuleFailure = causesOf(step).some((cause) => cause.includes('x-kubernetes-validations[0].rule'))
    expect(errorsOf(crd)).toEqual(isRuleFailure ? [] : causesOf(step))
    const warnings = [step.response.headers['warning'] ?? []].flat().filter((text) => text.includes('format'))
    expect(customResourceDefinitionWarnings(crd).map((text) => `299 - ${JSON.stringify(text)}`)).toEqual(warnings)
  })
})

describeData('recorded updates of CustomResourceDefinitions', { minimum: 12, read: updates }, (cases) => {
  test.each(cases)('$title', ({ step, old }) => {
    const crd = patched(old, step)
    const { storedVersions = [], ...status } = crd['status'] as { storedVersions?: string[] }
    const storage = (crd['spec'] as { versions: { name: string; storage: boolean }[] }).versions.find(
      (version) => version.storage,
    )!.name
    const stored = storedVersions.includes(storage) ? storedVersions : [...storedVersions, storage]
    expect(errorsOf({ ...crd, status: { ...status, storedVersions: stored } }, old)).toEqual(causesOf(step))
  })
})
