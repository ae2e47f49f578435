// Tests of templates as data, in the form of the original's cartotest: a leaf folder is a test and inherits what the folders above it define
// (third-party/cartographer/README.md, "cartotest").
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { Blueprint, BlueprintParam, BlueprintResource, Owner, OwnerKind, Template } from '../api.ts'
import { stampContext } from '../engine/templates/context.ts'
import type { ResolvedInput } from '../engine/templates/context.ts'
import { inputsOf } from '../engine/graph.ts'
import type { Outputs } from '../engine/values/output.ts'
import { mergeParams } from '../engine/templates/params.ts'
import { fillIn, labelsFor, stampLabel, stamped } from '../engine/templates/stamp.ts'
import { chooseTemplate } from '../engine/templates/template-choice.ts'
import { evaluateYtt } from '../ytt/ytt-program.ts'
import { DocumentError, readFile, readValues } from './documents.ts'

/** What came of one test. */
export interface TestOutcome {
  readonly name: string
  /** Why it failed, or why it was skipped. */
  readonly problem?: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
}

interface Settings {
  readonly template?: string
  readonly isPreprocessed?: boolean
  readonly workload?: string
  readonly expected?: string
  readonly chains: readonly string[]
  readonly mock?: JsonObject
  readonly target?: string
  readonly previousOutputs?: JsonObject
  readonly compare: JsonObject
}

/** Runs every test below a folder. */
export async function runCartotests(folder: string, ytt: string | undefined): Promise<TestOutcome[]> {
  return walk(folder, '', { chains: [], compare: {} }, ytt)
}

async function walk(
  folder: string,
  name: string,
  inherited: Settings,
  ytt: string | undefined,
): Promise<TestOutcome[]> {
  const settings = settingsOf(folder, inherited)
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  if (below.length === 0) return settings.template === undefined ? [] : [await runOne(name, settings, ytt)]
  const outcomes: TestOutcome[] = []
  for (const entry of below.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    outcomes.push(...(await walk(join(folder, entry.name), join(name, entry.name), settings, ytt)))
  return outcomes
}

function settingsOf(folder: string, inherited: Settings): Settings {
  const path = (name: unknown): string | undefined => (typeof name === 'string' ? join(folder, name) : undefined)
  const byDefault = (name: string): string | undefined =>
    existsSync(join(folder, name)) ? join(folder, name) : undefined
  const info = existsSync(join(folder, 'info.yaml')) ? readValues(join(folder, 'info.yaml'))[0] : undefined
  const own = isJsonObject(info) ? info : {}
  const given = part(own, 'given')
  const template = part(given, 'template')
  const chain = part(given, 'supplyChain')
  const chains = readdirSync(folder).filter(
    (file) => /^supply-chain.*\.ya?ml$/.test(file) && !file.includes('ytt-values'),
  )
  const named = (chain['paths'] as readonly string[] | undefined)?.map((file) => join(folder, file))
  const compare = part(own, 'compareOptions')
  return {
    template: path(template['path']) ?? byDefault('template.yaml') ?? inherited.template,
    isPreprocessed:
      template['yttPath'] !== undefined ||
      byDefault('template-ytt-values.yaml') !== undefined ||
      inherited.isPreprocessed,
    workload: path(given['workload']) ?? byDefault('workload.yaml') ?? inherited.workload,
    expected: path(own['expected']) ?? byDefault('expected.yaml') ?? inherited.expected,
    chains: named ?? (chains.length > 0 ? chains.map((file) => join(folder, file)) : inherited.chains),
    mock: (given['mockSupplyChain'] as JsonObject | undefined) ?? inherited.mock,
    target: (chain['targetResourceName'] as string | undefined) ?? inherited.target,
    previousOutputs: (chain['previousOutputs'] as JsonObject | undefined) ?? inherited.previousOutputs,
    compare: Object.keys(compare).length > 0 ? compare : inherited.compare,
  }
}

async function runOne(name: string, settings: Settings, ytt: string | undefined): Promise<TestOutcome> {
  try {
    const [template] = settings.isPreprocessed === true ? [] : (readFile(settings.template!) as Template[])
    if (template === undefined || (template.spec.ytt !== undefined && ytt === undefined))
      return { name, outcome: 'skipped', problem: 'it needs the program ytt (set YTT, or put it on the PATH)' }
    const object = await stampFor(template, settings, ytt)
    const [expected] = readFile(required(settings.expected, 'expected.yaml'))
    const [came, wanted] = [object, expected!].map((one) => comparable(one, settings.compare))
    if (jsonEqual(came, wanted)) return { name, outcome: 'passed' }
    return { name, outcome: 'failed', problem: differences(wanted!, came!, '').join('\n') }
  } catch (error) {
    return { name, outcome: 'failed', problem: error instanceof Error ? error.message : String(error) }
  }
}

async function stampFor(template: Template, settings: Settings, ytt: string | undefined): Promise<KubeObject> {
  const [owner] = readFile(required(settings.workload, 'workload.yaml')) as Owner[]
  if (owner === undefined) throw new DocumentError(`${settings.workload}: there is no owner`)
  const ownerKind = owner.kind as OwnerKind
  const chain = settings.mock === undefined ? chainFor(template, settings) : undefined
  const labels =
    chain === undefined
      ? mockLabels(owner, ownerKind, template)
      : labelsFor({ owner, ownerKind, blueprint: chain.blueprint, resource: chain.resource.name, template })
  if (chain !== undefined) {
    const choice = chooseTemplate(chain.resource, owner, chain.blueprint.metadata.name ?? '')
    if (choice.kind !== 'template' || choice.name !== template.metadata.name)
      throw new DocumentError(
        `the supply chain does not choose the template [${template.metadata.name}] for this owner`,
      )
  }
  const params = mergeParams({
    template: template.spec.params,
    blueprint:
      chain === undefined
        ? (settings.mock?.['blueprintParams'] as unknown as BlueprintParam[] | undefined)
        : chain.blueprint.spec.params,
    resource: chain?.resource.params,
    owner: owner.spec.params,
  })
  const inputs =
    chain === undefined
      ? mockInputs(part(settings.mock ?? {}, 'blueprintInputs'))
      : chainInputs(chain.resource, settings.previousOutputs ?? {})
  const context = stampContext({ owner, params, inputs, labels })
  const { ytt: text } = template.spec
  return stamped(
    text === undefined ? fillIn(template.spec, context) : await evaluateYtt(text, context, ytt),
    owner,
    labels,
  )
}

function chainFor(
  template: Template,
  { chains, target }: Settings,
): { blueprint: Blueprint; resource: BlueprintResource } | undefined {
  const blueprints = chains.flatMap((file) => readFile(file)) as Blueprint[]
  for (const blueprint of blueprints) {
    const resource = blueprint.spec.resources.find(({ name, templateRef }) => {
      const names = [templateRef.name, ...(templateRef.options ?? []).map((option) => option.name)]
      return target === undefined
        ? templateRef.kind === template.kind && names.includes(template.metadata.name)
        : name === target
    })
    if (resource !== undefined) return { blueprint, resource }
  }
  if (blueprints.length > 0)
    throw new DocumentError(
      `no resource of the supply chain is ${target ?? `stamped from [${template.metadata.name}]`}`,
    )
  return undefined
}

function chainInputs(resource: BlueprintResource, previous: JsonObject): ResolvedInput[] {
  return inputsOf(resource).flatMap((input) => {
    const outputs = previous[input.resource]
    return isJsonObject(outputs) ? [{ ...input, outputs }] : []
  })
}

function mockInputs(inputs: JsonObject): ResolvedInput[] {
  const of = (field: string, kind: ResolvedInput['kind']): ResolvedInput[] =>
    Object.entries(part(inputs, field)).map(([name, outputs]) => ({
      kind,
      name,
      resource: name,
      outputs: outputs as Outputs,
    }))
  const deployment = inputs['deployment']
  return [
    ...of('sources', 'source'),
    ...of('images', 'image'),
    ...of('configs', 'config'),
    ...(isJsonObject(deployment) ? [{ kind: 'deployment', name: '', resource: '', outputs: deployment } as const] : []),
  ]
}

function mockLabels({ metadata }: Owner, kind: OwnerKind, template: Template): Record<string, string> {
  const own = kind.toLowerCase()
  return {
    [`carto.run/${own}-name`]: metadata.name ?? '',
    [`carto.run/${own}-namespace`]: metadata.namespace ?? '',
    [stampLabel.templateKind]: template.kind,
    [stampLabel.templateName]: template.metadata.name ?? '',
  }
}

function comparable(object: KubeObject, options: JsonObject): JsonObject {
  const { status: _status, metadata, ...rest } = object as unknown as JsonObject
  if (options['ignoreMetadata'] === true) return rest
  const dropped = new Set<string>((options['ignoreMetadataFields'] ?? []) as readonly string[])
  if (options['ignoreOwnerRefs'] === true) dropped.add('ownerReferences')
  if (options['ignoreLabels'] === true) dropped.add('labels')
  const kept = Object.entries((metadata ?? {}) as JsonObject).filter(
    ([key, value]) => !dropped.has(key) && value !== undefined,
  )
  return { ...rest, metadata: Object.fromEntries(kept) }
}

function differences(wanted: JsonValue, came: JsonValue | undefined, at: string): string[] {
  if (came !== undefined && jsonEqual(wanted, came)) return []
  if (!isJsonObject(wanted) || !isJsonObject(came))
    return [`${at || '.'}: expected ${JSON.stringify(wanted)}, stamped ${JSON.stringify(came)}`]
  const more = Object.keys(came).filter((key) => !Object.hasOwn(wanted, key))
  return [
    ...Object.keys(wanted).flatMap((key) => differences(wanted[key]!, came[key], `${at}.${key}`)),
    ...more.map((key) => `${at}.${key}: not expected, stamped ${JSON.stringify(came[key])}`),
  ]
}

function part(value: JsonObject, key: string): JsonObject {
  return isJsonObject(value[key]) ? value[key] : {}
}

function required(path: string | undefined, name: string): string {
  if (path === undefined) throw new DocumentError(`there is no ${name}, here or in a folder above`)
  return path
}
