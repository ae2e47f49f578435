// Checks whether an account has the rights that a capability declares, one access review for each verb on each
// resource.
import type { Client } from '@fairlead/client'
import type { Capability, PolicyRule } from '@fairlead/controller'
import type { JsonObject } from '@fairlead/kube'
import { fail, ok } from './finding.ts'
import type { Finding } from './finding.ts'

/** The account whose rights are checked; the caller when left out. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/** Reviews in flight: API servers limit the requests of a user. */
const concurrency = 8

/** Missing rights that a finding lists. */
const listed = 6

/** Asks for every right of a capability. Throws StatusError when the caller may not ask. */
export async function checkRights(
  { name, rules }: Pick<Capability, 'name' | 'rules'>,
  client: Client,
  account: Account | undefined,
): Promise<Finding> {
  const check = `rights of ${name}`
  const wanted = rules.flatMap(rightsOf)
  const refused = new Set<JsonObject>()
  const left = wanted.values()
  const work = async (): Promise<void> => {
    for (const right of left) if (!(await isAllowed(right, client, account))) refused.add(right)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  const missing = wanted.filter((right) => refused.has(right))
  const who = account === undefined ? 'you have' : `service account ${account.namespace}/${account.name} has`
  if (missing.length === 0) return ok(check, `${who} all ${wanted.length}`)
  const some = missing.slice(0, listed).map(textOf).join(', ')
  const more = missing.length > listed ? ` and ${missing.length - listed} more` : ''
  return fail(
    check,
    `${who} not: ${some}${more}; fairlead install --only ${name} prints the roles${account === undefined ? ' for its service account' : ''}`,
  )
}

function rightsOf({ apiGroups = [], resources = [], resourceNames, verbs }: PolicyRule): JsonObject[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = '', subresource] = path.split('/')
      return verbs.flatMap((verb) =>
        (resourceNames ?? [undefined]).map((name): JsonObject => ({
          verb,
          group,
          resource,
          ...(subresource !== undefined && { subresource }),
          ...(name !== undefined && { name }),
        })),
      )
    }),
  )
}

function textOf({ verb, resource, subresource, group }: JsonObject): string {
  const place = subresource === undefined ? resource : `${String(resource)}/${String(subresource)}`
  return `${String(verb)} ${String(place)}${group === '' ? '' : `.${String(group)}`}`
}

async function isAllowed(
  resourceAttributes: JsonObject,
  client: Client,
  account: Account | undefined,
): Promise<boolean> {
  const kind = account === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview'
  const subject: JsonObject =
    account === undefined
      ? {}
      : {
          user: `system:serviceaccount:${account.namespace}:${account.name}`,
          groups: ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${account.namespace}`],
        }
  const review = (await client.send({
    method: 'POST',
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    body: { apiVersion: 'authorization.k8s.io/v1', kind, spec: { ...subject, resourceAttributes } },
  })) as unknown as { readonly status?: { readonly allowed?: boolean } }
  return review.status?.allowed === true
}
