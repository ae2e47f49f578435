// Asking one webhook about one request: dry runs, the call, its answer. What fails on the way says whether the request
// may go on.
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
import { answerOf, denied, InvalidAnswer, reviewOf } from './admission-review.ts'
import type { AdmissionAnswer } from './admission-review.ts'
import type { Webhook } from './webhook.ts'

/** What webhooks are asked with. */
export interface WebhookSource {
  readonly client: WebhookClient
  readonly authorizer: Authorizer
  readonly newUid: () => string
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly list: (resource: string) => Iterable<KubeObject>
}

/** A request that a webhook wants, in the version it wants. */
export interface Invocation {
  readonly webhook: Webhook
  readonly as: ServedResource
  /** With its objects in that version. */
  readonly request: AdmissionAttributes
}

/** The request for one webhook; undefined when it does not want it. @throws StatusError 403, 404, 500 */
export async function invocationOf(
  webhook: Webhook,
  request: AdmissionAttributes,
  source: WebhookSource,
): Promise<Invocation | undefined> {
  const readNamespace = (name: string): KubeObject | undefined => source.read('namespaces.', name)
  const as = webhook.wants(request, readNamespace)
  if (as === undefined) return undefined
  const seen = await inVersion(request, as)
  if ((webhook.spec.matchConditions ?? []).length === 0) return { webhook, as, request: seen }
  const { values } = new RequestValues(seen, as, namespaceOf(request, readNamespace), source.authorizer)
  const matched = webhook.conditions.match(values)
  if (typeof matched === 'object') throw refusal(request, matched.error)
  return matched ? { webhook, as, request: seen } : undefined
}

/**
 * Asks a webhook; undefined when it could not be asked and is to be ignored then.
 * @throws StatusError its refusal, 400 for dry runs it cannot do, 500 when it cannot be asked
 */
export async function ask(
  { webhook, as, request }: Invocation,
  mutates: boolean,
  { client, newUid }: WebhookSource,
): Promise<AdmissionAnswer | undefined> {
  const { sideEffects, clientConfig = {}, failurePolicy } = webhook.spec
  if (request.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun')
    throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`)
  const uid = newUid()
  let answer: AdmissionAnswer
  try {
    const version = webhook.reviewVersion
    const review = await client.post({
      config: clientConfig,
      body: reviewOf(request, as, version, uid),
      timeoutSeconds: webhook.timeoutSeconds,
      announcesTimeout: true,
    })
    answer = answerOf(review, { uid, version, mutates })
  } catch (error) {
    const reason = failureText(error)
    if (reason === undefined) throw error
    if (failurePolicy === 'Ignore') return undefined
    throw callFailed(webhook, reason)
  }
  request.warnings.push(...answer.warnings)
  if (!answer.allowed) throw denied(webhook.name, answer.status)
  return answer
}

/** 500: a webhook could not be asked. */
export function callFailed({ name }: Webhook, reason: string): StatusError {
  return internalError(`failed calling webhook ${JSON.stringify(name)}: ${reason}`)
}

function failureText(error: unknown): string | undefined {
  if (error instanceof WebhookError) return `failed to call webhook: ${error.message}`
  if (error instanceof InvalidAnswer) return `received invalid webhook response: ${error.message}`
  return undefined
}
