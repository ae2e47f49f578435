// The ValidatingAdmissionWebhook plugin: all matching webhooks are called in parallel, and one refusal is enough.
import type { AdmissionPlugin } from '../plugin.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { isExempt } from '../attributes.ts'
import { callWebhook, invocationOf } from './webhook-caller.ts'
import type { Invocation, WebhookDependencies } from './webhook-caller.ts'
import { validatingResource, webhooksOf } from './webhook.ts'
import type { Webhook } from './webhook.ts'

/** Returns the plugin. */
export function validatingWebhookPlugin(source: WebhookDependencies): AdmissionPlugin {
  return {
    name: 'ValidatingAdmissionWebhook',
    validate(request) {
      const webhooks = webhooksOf(source.list(validatingResource))
      return webhooks.length === 0 || isExempt(request) ? undefined : validate(webhooks, request, source)
    },
  }
}

async function validate(
  webhooks: readonly Webhook[],
  request: AdmissionAttributes,
  source: WebhookDependencies,
): Promise<void> {
  const invocations: Invocation[] = []
  for (const webhook of webhooks) {
    const invocation = await invocationOf(webhook, request, source)
    if (invocation !== undefined) invocations.push(invocation)
  }
  const outcomes = await Promise.allSettled(invocations.map((invocation) => callWebhook(invocation, false, source)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
