// Injects the CA bundle of our webhooks into webhook configurations and CRDs: by server-side apply, so that the
// installer keeps all other fields, and again whenever it is removed.
import { CustomResourceDefinition, kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { Informer } from '../informer/informer.ts'
import type { WorkContext, WorkLoopOptions } from '../work/work-loop-options.ts'
import type { WorkLoop } from '../work/work-loop.ts'

/** An object that contains our caBundle. */
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

/** Keeps the bundle in all targets. `bundle` returns the current one; add the targets to the loop when it changes. */
export function keepCaBundles(
  loopOf: (options: WorkLoopOptions<CaBundleTarget>) => WorkLoop<CaBundleTarget>,
  targets: readonly CaBundleTarget[],
  bundle: () => string,
): WorkLoop<CaBundleTarget> {
  const caches = new Map<CaBundleTarget, Informer>()
  const loop = loopOf({
    name: 'ca-bundles',
    id: (target) => `${target.kind}/${target.name}`,
    logFields: (target) => ({ kind: target.kind, key: target.name }),
    run: async (target, { client }: WorkContext) => {
      const read = caches.get(target)!.read()
      if (!read.known) throw read.reason
      const live = read.objects.get(target.name)
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

/** Returns the configuration that adds the bundle to an object; undefined when it has it, or has no webhook. */
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
