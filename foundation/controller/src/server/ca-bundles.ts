// Writes the bundle that callers of our webhooks must trust into the configurations that make them call: by server-side
// apply, so that whoever installed them keeps all other fields, and again whenever someone takes it away.
import { CustomResourceDefinition, kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { WorkContext, WorkLoopOptions } from '../work/work-loop-options.ts'
import type { WorkLoop } from '../work/work-loop.ts'

/** An object that holds a caBundle of ours. */
export interface CaBundleTarget {
  readonly kind: 'ValidatingWebhookConfiguration' | 'MutatingWebhookConfiguration' | 'CustomResourceDefinition'
  readonly name: string
}

/** `ValidatingWebhookConfiguration` and `MutatingWebhookConfiguration` of `admissionregistration.k8s.io/v1`. */
interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly { readonly name: string; readonly clientConfig?: { readonly caBundle?: string } }[]
}

interface ConvertedDefinition extends KubeObject {
  readonly spec: {
    readonly conversion?: {
      readonly strategy?: string
      readonly webhook?: { readonly clientConfig?: { readonly caBundle?: string } }
    }
  }
}

const kinds: Readonly<Record<CaBundleTarget['kind'], Kind>> = {
  ValidatingWebhookConfiguration: kind('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
  }),
  MutatingWebhookConfiguration: kind('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', {
    plural: 'mutatingwebhookconfigurations',
    namespaced: false,
  }),
  CustomResourceDefinition: CustomResourceDefinition as unknown as Kind,
}

/** Keeps the bundle in all targets. `bundle` gives it as it is now; add a target to the loop when it is another one. */
export function keepCaBundles(
  loopOf: (options: WorkLoopOptions<CaBundleTarget>) => WorkLoop<CaBundleTarget>,
  targets: readonly CaBundleTarget[],
  bundle: () => string,
): WorkLoop<CaBundleTarget> {
  const caches = new Map<CaBundleTarget, { get(name: string): KubeObject | undefined }>()
  const loop = loopOf({
    name: 'ca-bundles',
    id: (target) => `${target.kind}/${target.name}`,
    logFields: (target) => ({ kind: target.kind, key: target.name }),
    run: async (target, { client }: WorkContext) => {
      const live = caches.get(target)?.get(target.name)
      const wanted = live && withBundle(target, live, Buffer.from(bundle()).toString('base64'))
      if (wanted !== undefined) await client.apply(wanted)
    },
  })
  for (const target of targets)
    caches.set(
      target,
      loop.watch(kinds[target.kind], () => [target], { fieldSelector: `metadata.name=${target.name}` }).informer,
    )
  return loop
}

/** What to apply to an object so that it holds the bundle; undefined when it does, or has no place for it. */
export function withBundle({ kind: name }: CaBundleTarget, live: KubeObject, caBundle: string): KubeObject | undefined {
  const applied = {
    apiVersion: kinds[name].apiVersion,
    kind: name,
    metadata: { name: live.metadata.name, uid: live.metadata.uid },
  }
  if (name === 'CustomResourceDefinition') {
    const { conversion } = (live as ConvertedDefinition).spec
    if (conversion?.strategy !== 'Webhook' || conversion.webhook?.clientConfig?.caBundle === caBundle) return undefined
    return { ...applied, spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { caBundle } } } } }
  }
  const { webhooks = [] } = live as WebhookConfiguration
  if (webhooks.every(({ clientConfig }) => clientConfig?.caBundle === caBundle)) return undefined
  return { ...applied, webhooks: webhooks.map((webhook) => ({ name: webhook.name, clientConfig: { caBundle } })) }
}
