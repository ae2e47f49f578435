// Cases of the area command: one command action of one resource, planned as the server plans it.
import {
  ActionError,
  FileCluster,
  actionsFrom,
  asActionError,
  findAction,
  functionsFor,
  mergeMaps,
  planCommand,
  targetOf,
} from '@fairlead/actions'
import type { ActionMap } from '@fairlead/actions'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { sameValue } from '../comparison.ts'
import { jsonOf, resourceOf, sandbox } from './shorthand.ts'

interface Request {
  readonly action: string
  readonly apiVersion?: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly application?: { readonly name: string; readonly namespace: string }
  readonly body?: JsonValue
  readonly user: string
}

/** Plays a case. */
export async function playCommand(input: Case['input'], want: Case['want']): Promise<readonly Disagreement[]> {
  const outcome = await run(input)
  const wantedJobs = want.jobs as readonly JsonObject[] | undefined
  return [
    ...(want.status === undefined ? [] : sameValue('status', want.status, outcome.status)),
    ...(want.error === undefined ? [] : sameValue('error', want.error, outcome.message?.split(':')[0])),
    ...(wantedJobs === undefined ? [] : jobsDisagree(wantedJobs, outcome.jobs)),
  ]
}

interface Outcome {
  readonly status: number
  readonly message?: string
  readonly jobs: readonly KubeObject[]
}

async function run(input: Case['input']): Promise<Outcome> {
  try {
    return { status: 200, jobs: await jobsOf(input) }
  } catch (error) {
    const actionError = asActionError(error)
    if (actionError === undefined) throw error
    return { status: actionError.status, message: actionError.message, jobs: [] }
  }
}

async function jobsOf(input: Case['input']): Promise<readonly KubeObject[]> {
  const resource = resourceOf(input)
  const request = input.request as Request
  const { apiVersion = resource.apiVersion, kind, namespace, name } = request
  const { metadata } = resource
  if (
    apiVersion !== resource.apiVersion ||
    kind !== resource.kind ||
    namespace !== metadata.namespace ||
    name !== metadata.name
  )
    throw new ActionError(404, 'not-found', `there is no ${kind} ${namespace}/${name}`)
  const map: ActionMap = {
    namespace: 'kappnav',
    name: 'merged',
    policy: 'merge',
    actions: {
      'url-actions': [],
      'cmd-actions': actionsFrom((input.actions ?? []) as readonly JsonValue[], 'cmd-actions'),
    },
    parts: { inputs: jsonOf(input.inputs), variables: {}, snippets: jsonOf(input.snippets) },
    problems: [],
  }
  const merged = mergeMaps([{ candidate: undefined, map }])
  const action = findAction(merged, request.action, 'cmd-actions')
  if (action === undefined) throw new ActionError(404, 'not-found', `there is no command action "${request.action}"`)
  let uid = 0
  return planCommand(
    action,
    { target: targetOf(resource), user: request.user, application: request.application, body: request.body },
    {
      merged,
      settings: {
        ...(input.settings as { namespace: string; serviceAccountName: string }),
        ttlSeconds: undefined,
        deadlineSeconds: undefined,
        resources: undefined,
      },
      scope: {
        resource: resource as unknown as JsonObject,
        merged,
        globalMap: async () => undefined,
        runSnippet: sandbox.run,
        callFunction: functionsFor(resource, new FileCluster([resource])),
      },
      newUid: () => String(++uid),
    },
  )
}

function jobsDisagree(wanted: readonly JsonObject[], came: readonly KubeObject[]): readonly Disagreement[] {
  if (wanted.length !== came.length) return [{ at: 'jobs', wanted, came }]
  return wanted.flatMap((job, index) => {
    const facts = factsOf(came[index]!)
    return Object.entries(job).flatMap(([key, value]) => sameValue(`jobs[${index}].${key}`, value, facts[key]))
  })
}

/** Returns the fields of a Job that cases compare. */
function factsOf({ metadata, spec }: KubeObject): Readonly<Record<string, unknown>> {
  const { backoffLimit, template } = spec as {
    backoffLimit: number
    template: { spec: JsonObject & { containers: readonly JsonObject[]; securityContext: JsonObject } }
  }
  const [container = {}] = template.spec.containers
  return {
    namespace: metadata.namespace,
    labels: ofJobs(metadata.labels),
    annotations: ofJobs(metadata.annotations),
    image: container['image'],
    command: container['command'],
    restartPolicy: template.spec['restartPolicy'],
    backoffLimit,
    serviceAccountName: template.spec['serviceAccountName'],
    runAsUser: template.spec.securityContext['runAsUser'],
    runAsNonRoot: template.spec.securityContext['runAsNonRoot'],
  }
}

function ofJobs(values: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => key.startsWith('kappnav-job-')))
}
