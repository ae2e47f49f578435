// Default action maps of well-known kinds: paths of the API server as url actions, restart and scale as commands.
import type { JsonObject } from '@fairlead/kube'
import { commandAccount } from './command-identity.ts'

/** The default map of one kind. */
export interface DefaultMap {
  /** Lower case, as in the name of the map. */
  readonly kind: string
  readonly data: Readonly<Record<string, string>>
  /** The account of its commands. */
  readonly runAs?: string
}

/** An image with kubectl. */
const kubectlImage = 'rancher/kubectl:v1.33.1'

const namespace = '${resource.$.metadata.namespace}'
const name = '${resource.$.metadata.name}'

/** The default action maps. */
export const defaultMaps: readonly DefaultMap[] = [
  workload('deployment', 'apps/v1/deployments'),
  workload('statefulset', 'apps/v1/statefulsets'),
  viewed('pod', 'v1/pods'),
  viewed('service', 'v1/services'),
  viewed('ingress', 'networking.k8s.io/v1/ingresses'),
  viewed('job', 'batch/v1/jobs'),
  viewed('application', 'app.k8s.io/v1beta1/applications'),
]

function viewed(kind: string, resource: string): DefaultMap {
  return { kind, data: { 'url-actions': json(views(resource)) } }
}

function workload(kind: string, resource: string): DefaultMap {
  return {
    kind,
    runAs: commandAccount,
    data: {
      'url-actions': json(views(resource)),
      'cmd-actions': json([
        {
          name: 'restart',
          text: 'Restart',
          description: `Replace the pods of this ${kind} one after another`,
          image: kubectlImage,
          'enablement-expression': isInGroup('apps'),
          'cmd-pattern': `kubectl rollout restart ${kind}.apps/${name} --namespace ${namespace}`,
        },
        {
          name: 'scale',
          text: 'Scale',
          description: `Set the number of pods of this ${kind}`,
          image: kubectlImage,
          'enablement-expression': isInGroup('apps'),
          'cmd-pattern': `kubectl scale ${kind}.apps/${name} --namespace ${namespace} --replicas=\${input.replicas}`,
          'requires-input': 'scale',
        },
      ]),
      inputs: json({
        scale: {
          title: 'Scale',
          fields: {
            replicas: {
              label: 'Replicas',
              description: 'How many pods there must be',
              type: 'string',
              default: '${resource.$.spec.replicas}',
              validator: 'is_count',
            },
          },
        },
      }),
      snippets: json({
        is_count:
          "function isCount(text) { var ok = /^[0-9]{1,4}$/.test(JSON.parse(text).value); return JSON.stringify(ok ? {valid: true} : {valid: false, message: 'must be a number from 0 to 9999'}); }",
      }),
    },
  }
}

/** Returns actions that open paths of the API server: every caller who may read the resource may open them. */
function views(resource: string): readonly JsonObject[] {
  const root = groupOf(resource) === '' ? '/api' : '/apis'
  const plural = resource.slice(resource.lastIndexOf('/') + 1)
  const address = `${root}/${resource.slice(0, -plural.length)}namespaces/${namespace}/${plural}/${name}`
  const events = `/api/v1/namespaces/${namespace}/events?pretty=true&fieldSelector=involvedObject.name%3D${name}`
  const view = (action: string, text: string, description: string, pattern: string): JsonObject => ({
    name: action,
    text,
    description,
    'url-pattern': pattern,
    'open-window': 'tab',
    'enablement-expression': isInGroup(groupOf(resource)),
  })
  return [
    view('detail', 'Details', 'The object, from the API server', `${address}?pretty=true`),
    view('events', 'Events', 'The events of the object, from the API server', events),
    ...(resource === 'v1/pods'
      ? [view('logs', 'Logs', 'The log of the pod, from the API server', `${address}/log`)]
      : []),
  ]
}

/** Maps are found by kind alone: an action must not reach an object of the same kind in another group. */
function isInGroup(group: string): string {
  return group === '' ? '!resource.apiVersion.contains("/")' : `resource.apiVersion.startsWith("${group}/")`
}

/** Returns the group of `apps/v1/deployments`, `v1/pods`. */
function groupOf(resource: string): string {
  const parts = resource.split('/')
  return parts.length === 3 ? parts[0]! : ''
}

function json(value: JsonObject | readonly JsonObject[]): string {
  return JSON.stringify(value, undefined, 2)
}
