// The condition Accepted of a controller whose hooks could be made.
import { condition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import type { EndpointConfig, Webhook } from '../api.ts'
import { hasCredentials, isHostOf } from './credentials.ts'
import { webhookUrl } from './webhook.ts'

/**
 * Returns the condition. It names `endpointConfigs` that no webhook uses: their host is that of none, or the webhook
 * has credentials of its own.
 */
export function acceptance(
  webhooks: readonly (Webhook | undefined)[],
  endpointConfigs: readonly EndpointConfig[] = [],
): Condition {
  const urls = webhooks.flatMap((webhook) =>
    webhook === undefined || hasCredentials(webhook) ? [] : [webhookUrl(webhook)],
  )
  const unused = endpointConfigs.map(({ host }) => host).filter((host) => !urls.some((url) => isHostOf(host, url)))
  const message = 'The spec can be carried out'
  return condition('Accepted', true, {
    reason: 'Accepted',
    message: unused.length === 0 ? message : `${message}; no webhook uses the endpointConfigs of ${unused.join(', ')}`,
  })
}
