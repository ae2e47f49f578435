// Tests of templates as data, in the format of Cartographer's cartotest: a leaf folder is a test and inherits the
// settings of the folders above it (third-party/cartographer/README.md, "cartotest").
import { asJson, isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { CommandError, manifestsOf, parseDocuments, readDocuments } from '@fairlead/offline'
import type { Blueprint, BlueprintParam, BlueprintResource, Owner, OwnerKind, Template } from '../api.ts'
import { stampContext } from '../engine/templates/context.ts'
import type { ResolvedInput } from '../engine/templates/context.ts'
import { inputsOf } from '../engine/blueprints/graph.ts'
import type { Outputs } from '../engine/values/output.ts'
import { mergeParams } from '../engine/templates/params.ts'
import { renderTemplate, labelsFor, stampLabel, stamped } from '../engine/templates/stamp.ts'
import { chooseTemplate } from '../engine/templates/template-choice.ts'
import type { Ytt } from '../ytt/ytt.ts'
import { findCartotests, section } from './cartotest-settings.ts'
import type { Cartotest, Settings } from './cartotest-settings.ts'
import type { TestOutcome } from './test-outcome.ts'

/** Runs every test below a folder. Without the ytt program, tests that need it are skipped. Throws ManifestError. */
export async function runCartotests(folder: string, ytt: Ytt): Promise<TestOutcome[]> {
  const outcomes: TestOutcome[] = []
  for (const test of findCartotests(folder)) outcomes.push(await runOne(test, ytt))
  return outcomes
}

async function runOne({ name, settings }: Cartotest, ytt: Ytt): Promise<TestOutcome> {
  try {
    const isSkipped = (needed: boolean): boolean => needed && ytt.program === undefined
    const skipped: TestOutcome = {
      name,
      outcome: 'skipped',
      problem: 'the ytt program is missing (set YTT, or put it on the PATH)',
    }
    const { templateValues, chainValues } = settings
    if (isSkipped((templateValues ?? (settings.mock === undefined ? chainValues : undefined)) !== undefined))
      return skipped
    const [template] = await formatted<Template>(settings.template, templateValues, ytt)
    if (template === undefined) throw new CommandError(`${settings.template}: there is no template`)
    if (isSkipped(template.spec.ytt !== undefined)) return skipped
    const object = await stampFor(template, settings, ytt)
    const path = required(settings.expected, 'expected.yaml')
    const [first] = readObjects(path)
    if (first === undefined) throw new CommandError(`${path}: there is no expected object`)
    const [actual, expected] = [comparable(object, settings.compare), comparable(first, settings.compare)]
    if (jsonEqual(actual, expected)) return { name, outcome: 'passed' }
    return { name, outcome: 'failed', problem: differences(expected, actual, '').join('\n') }
  } catch (error) {
    return { name, outcome: 'failed', problem: error instanceof Error ? error.message : String(error) }
  }
}

async function stampFor(template: Template, settings: Settings, ytt: Ytt): Promise<KubeObject> {
  const [owner] = readObjects<Owner>(required(settings.workload, 'workload.yaml'))
  if (owner === undefined) throw new CommandError(`${settings.workload}: there is no owner`)
  const ownerKind = owner.kind as OwnerKind
  const chain = settings.mock === undefined ? await chainFor(template, settings, ytt) : undefined
  const labels =
    chain === undefined
      ? mockLabels(owner, ownerKind, template)
      : labelsFor({ owner, ownerKind, blueprint: chain.blueprint, resource: chain.resource.name, template })
  if (chain !== undefined) {
    const choice = chooseTemplate(chain.resource, owner, chain.blueprint.metadata.name ?? '')
    if (choice.kind !== 'template' || choice.name !== template.metadata.name)
      throw new CommandError(`the supply chain does not choose the template [${template.metadata.name}] for this owner`)
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
      ? mockInputs(section(settings.mock ?? {}, 'blueprintInputs'))
      : chainInputs(chain.resource, settings.previousOutputs ?? {})
  const context = stampContext({ owner, params, inputs, labels })
  const rendered =
    template.spec.ytt === undefined
      ? renderTemplate(template.spec, context)
      : await ytt.render(template.spec.ytt, context)
  return stamped(rendered, owner, labels)
}

async function chainFor(
  template: Template,
  { chains, chainValues, target }: Settings,
  ytt: Ytt,
): Promise<{ blueprint: Blueprint; resource: BlueprintResource } | undefined> {
  const blueprints: Blueprint[] = []
  for (const file of chains) blueprints.push(...(await formatted<Blueprint>(file, chainValues, ytt)))
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
    throw new CommandError(`no resource of the supply chain is ${target ?? `stamped from [${template.metadata.name}]`}`)
  return undefined
}

function chainInputs(resource: BlueprintResource, previous: JsonObject): ResolvedInput[] {
  return inputsOf(resource).flatMap((input) => {
    const outputs = previous[input.resource]
    if (!isJsonObject(outputs)) return []
    // Sources are nested, images and configs are not.
    return [{ ...input, outputs: isJsonObject(outputs['source']) ? { ...outputs, ...outputs['source'] } : outputs }]
  })
}

function mockInputs(inputs: JsonObject): ResolvedInput[] {
  const of = (field: string, kind: ResolvedInput['kind']): ResolvedInput[] =>
    Object.entries(section(inputs, field)).map(([name, outputs]) => ({
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
  const { status: _status, metadata, ...rest } = asJson(object)
  if (options['ignoreMetadata'] === true) return rest
  const ignored = new Set<string>((options['ignoreMetadataFields'] ?? []) as readonly string[])
  if (options['ignoreOwnerRefs'] === true) ignored.add('ownerReferences')
  if (options['ignoreLabels'] === true) ignored.add('labels')
  const kept = Object.entries((metadata ?? {}) as JsonObject).filter(
    ([key, value]) => !ignored.has(key) && value !== undefined,
  )
  return { ...rest, metadata: Object.fromEntries(kept) }
}

function differences(expected: JsonValue, actual: JsonValue | undefined, path: string): string[] {
  if (actual !== undefined && jsonEqual(expected, actual)) return []
  if (!isJsonObject(expected) || !isJsonObject(actual))
    return [`${path || '.'}: expected ${JSON.stringify(expected)}, stamped ${JSON.stringify(actual)}`]
  const unexpected = Object.keys(actual).filter((key) => !Object.hasOwn(expected, key))
  return [
    ...Object.keys(expected).flatMap((key) => differences(expected[key]!, actual[key], `${path}.${key}`)),
    ...unexpected.map((key) => `${path}.${key}: not expected, stamped ${JSON.stringify(actual[key])}`),
  ]
}

/** Returns the objects of a file; with data values it is a ytt template. */
async function formatted<T extends KubeObject>(
  path: string,
  values: string | undefined,
  ytt: Ytt,
): Promise<readonly T[]> {
  if (values === undefined) return readObjects<T>(path)
  return manifestsOf(parseDocuments(await ytt.format(path, values), path)).map(({ object }) => object as T)
}

function readObjects<T extends KubeObject>(path: string): readonly T[] {
  return manifestsOf(readDocuments(path)).map(({ object }) => object as T)
}

function required(path: string | undefined, name: string): string {
  if (path === undefined) throw new CommandError(`there is no ${name}, here or in a folder above`)
  return path
}
