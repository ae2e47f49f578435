// The decision pass: realizes the resources of a blueprint for one owner over the Cluster port. Each resource is
// stamped as soon as its inputs have values; independent branches run concurrently (specs/supply-chains.md §2.3). The
// controller and `fairlead supply render` run this very pass. Start with realize.
import type { BlueprintResource, Template } from '../api.ts'
import { cyclicResources, formatNames, inputsOf } from './blueprints/graph.ts'
import type { Input } from './blueprints/graph.ts'
import type { Cluster } from './cluster.ts'
import { verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import { realizeTemplate } from './realize-template.ts'
import type { RealizedResource } from './realized-resource.ts'
import type { Chain, Step } from './step.ts'
import type { ResolvedInput } from './templates/context.ts'
import { chooseTemplate } from './templates/template-choice.ts'
import { withEarlierObject } from './unstamped.ts'

/**
 * Realizes every resource of the blueprint; the result is in the order of the blueprint. Errors of one resource are
 * part of its result, with the error to retry; throws what concerns the whole pass: templates that cannot be read.
 */
export async function realize(chain: Chain, cluster: Cluster): Promise<RealizedResource[]> {
  const { resources } = chain.blueprint.spec
  const cyclic = cyclicResources(resources)
  const cycle = `the resources ${formatNames(cyclic)} wait for each other`
  const byName = new Map(resources.toReversed().map((resource) => [resource.name, resource]))
  const running = new Map<string, Promise<RealizedResource>>()
  const stampedBy = new Map<string, string>()
  const realized = (resource: BlueprintResource): Promise<RealizedResource> => {
    let run = running.get(resource.name)
    // Asynchronous, so that long chains need no deep stack.
    run ??= Promise.resolve().then(() => realizeOne({ chain, resource, cluster, stampedBy }, provided))
    running.set(resource.name, run)
    return run
  }
  const provided = async (input: Input, of: BlueprintResource): Promise<ResolvedInput | Verdict> => {
    const provider = byName.get(input.resource)
    if (provider === undefined) return waiting(`the blueprint has no resource ${input.resource}`, input)
    if (cyclic.has(of.name) && cyclic.has(provider.name)) return waiting(cycle, input)
    const { outputs, healthy } = await realized(provider)
    if (outputs === undefined) return waiting(undefined, input)
    const isWithheld = provider.gate === 'healthy' && healthy !== undefined && healthy.status !== 'True'
    return isWithheld ? waiting(gateMessage(healthy), input) : { ...input, outputs }
  }
  return Promise.all(resources.map(realized))
}

async function realizeOne(
  step: Step,
  provided: (input: Input, of: BlueprintResource) => Promise<ResolvedInput | Verdict>,
): Promise<RealizedResource> {
  const { chain, resource, cluster } = step
  const chainName = chain.blueprint.metadata.name ?? ''
  const choice = chooseTemplate(resource, chain.owner, chainName)
  const unstamped = (submitted: Verdict, template?: Template): Promise<RealizedResource> =>
    withEarlierObject({ resource, template, submitted }, cluster)
  if (choice.kind === 'none') return unstamped(choice.submitted)
  const template =
    choice.kind === 'template' ? await cluster.template(resource.templateRef.kind, choice.name) : undefined
  if (choice.kind === 'template' && template === undefined) {
    const reference = `${resource.templateRef.kind}/${choice.name}`
    const message = `unable to get template [${reference}] for resource [${resource.name}] in supply chain [${chainName}]`
    return unstamped(verdict('False', 'TemplateObjectRetrievalFailure', message))
  }
  const inputs = await Promise.all(inputsOf(resource).map((input) => provided(input, resource)))
  const pending = inputs.find((input): input is Verdict => 'status' in input)
  if (pending !== undefined) return unstamped(pending, template)
  const resolved = inputs as ResolvedInput[]
  if (template !== undefined) return realizeTemplate({ ...step, template, inputs: resolved })
  const passedThrough =
    choice.kind === 'pass-through' ? resolved.find((input) => input.name === choice.input) : undefined
  if (passedThrough !== undefined)
    return { resource, outputs: passedThrough.outputs, submitted: verdict('True', 'PassThrough'), stamped: true }
  const message = `resource [${resource.name}] has no input that its passThrough names`
  return unstamped(verdict('False', 'ResolveTemplateOptionsError', message))
}

/** Returns why `gate: healthy` withholds the outputs of a resource. */
function gateMessage({ status, reason, message }: Verdict): string {
  return `its outputs are withheld until it is healthy (gate: healthy); it is ${status} (${message || reason})`
}

function waiting(cause: string | undefined, { kind, resource }: Input): Verdict {
  const message = `waiting for [${kind === 'deployment' ? 'source' : kind}] of resource [${resource}]`
  return verdict('Unknown', 'MissingValueAtPath', cause === undefined ? message : `${message}: ${cause}`)
}
