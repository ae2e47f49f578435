// The call of one webhook for one request: dry runs, the call, its response. Its failurePolicy decides what an error
// does to the request.
import { badRequest, internalError } from '@fairlead/kube'
import type { KubeObject, StatusError } from '@fairlead/kube'
import type { Authorizer } from '../../identity/authorizer.ts'
import type { ServedResource } from '../../registry/registry.ts'
import { WebhookError } from '../../webhooks/webhook-client.ts'
import type { WebhookClient } from '../../webhooks/webhook-client.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { refusal } from '../attributes.ts'
import { RequestValues } from '../expressions/variables.ts'
import { inVersion } from '../matching/in-version.ts'
import { namespaceOf } from '../matching/selectors.ts'
import { verifiedResponse, denied, InvalidReviewResponse, reviewOf } from './admission-review.ts'
import type { ReviewResponse } from './admission-review.ts'
import type { Webhook } from './webhook.ts'

/** The dependencies of webhook calls. */
export interface WebhookDependencies {
  readonly client: WebhookClient
  readonly authorizer: Authorizer
  readonly newUid: () => string
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly list: (resource: string) => Iterable<KubeObject>
}

/** A request that a webhook matches, in the version that the webhook's rules name. */
export interface Invocation {
  readonly webhook: Webhook
  readonly as: ServedResource
  /** Has its objects in the version of `as`. */
  readonly request: AdmissionAttributes
}

/**
 * Returns the invocation of one webhook; undefined when it does not match.
 * @throws StatusError 403, 404, 500
 */
export async function invocationOf(
  webhook: Webhook,
  request: AdmissionAttributes,
  source: WebhookDependencies,
): Promise<Invocation | undefined> {
  const readNamespace = (name: string): KubeObject | undefined => source.read('namespaces.', name)
  const as = webhook.matchedVersion(request, readNamespace)
  if (as === undefined) return undefined
  const seen = await inVersion(request, as)
  if ((webhook.spec.matchConditions ?? []).length === 0) return { webhook, as, request: seen }
  const { values } = new RequestValues(seen, as, namespaceOf(request, readNamespace), source.authorizer)
  const matched = webhook.conditions.match(values)
  if (typeof matched === 'object') throw refusal(request, matched.error)
  return matched ? { webhook, as, request: seen } : undefined
}

/**
 * Calls a webhook; undefined when the call failed and its failurePolicy is Ignore.
 * @throws StatusError its refusal, 400 for dry runs that it does not support, 500 for a failed call
 */
export async function callWebhook(
  { webhook, as, request }: Invocation,
  mutates: boolean,
  { client, newUid }: WebhookDependencies,
): Promise<ReviewResponse | undefined> {
  const { sideEffects, clientConfig = {}, failurePolicy } = webhook.spec
  if (request.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun')
    throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`)
  const uid = newUid()
  let response: ReviewResponse
  try {
    const version = webhook.reviewVersion
    const review = await client.post({
      config: clientConfig,
      body: reviewOf(request, as, version, uid),
      timeoutSeconds: webhook.timeoutSeconds,
      announcesTimeout: true,
    })
    response = verifiedResponse(review, { uid, version, mutates })
  } catch (error) {
    const reason = failureText(error)
    if (reason === undefined) throw error
    if (failurePolicy === 'Ignore') return undefined
    throw callFailed(webhook, reason)
  }
  request.warnings.push(...response.warnings)
  if (!response.allowed) throw denied(webhook.name, response.status)
  return response
}

/** Returns the 500 of a failed call. */
export function callFailed({ name }: Webhook, reason: string): StatusError {
  return internalError(`failed calling webhook ${JSON.stringify(name)}: ${reason}`)
}

function failureText(error: unknown): string | undefined {
  if (error instanceof WebhookError) return `failed to call webhook: ${error.message}`
  if (error instanceof InvalidReviewResponse) return `received invalid webhook response: ${error.message}`
  return undefined
}
