// What the API server warns about in a pod's spec, alone or in a template, without refusing it (pkg/api/pod/warnings.go, v1.35).
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { fieldPath, goQuote, jsonEqual } from '@fairlead/kube'
import { mapAt, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'

/**
 * Warnings of an object whose PodSpec stands at `path` (`['spec', 'template', 'spec']`). An update that leaves the spec alone gives none.
 */
export function podWarnings(object: KubeObject, old: KubeObject | undefined, path: readonly string[]): string[] {
  const spec = objectAt(object, ...path)
  if (old !== undefined && jsonEqual(spec, objectAt(old, ...path))) return []
  const field = path.join('.')
  return [
    ...nodeLabelWarnings(`${field}.nodeSelector`, mapAt(spec, 'nodeSelector')),
    ...objectsAt(spec, 'imagePullSecrets').flatMap((secret, index) =>
      stringAt(secret, 'name') === ''
        ? [`${fieldPath(`${field}.imagePullSecrets`, index)}: invalid empty name ""`]
        : [],
    ),
    ...['initContainers', 'containers'].flatMap((list) =>
      objectsAt(spec, list).flatMap((container, index) =>
        environmentWarnings(fieldPath(`${field}.${list}`, index, 'env'), container),
      ),
    ),
    ...((numberAt(spec, 'terminationGracePeriodSeconds') ?? 0) < 0
      ? [`${field}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
  ]
}

/** Labels of nodes that have a newer name. */
const renamedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
}

function nodeLabelWarnings(field: string, selector: Readonly<Record<string, string>>): string[] {
  return Object.entries(renamedLabels).flatMap(([label, warning]) =>
    Object.hasOwn(selector, label) ? [`${fieldPath(field, { key: label })}: ${warning}`] : [],
  )
}

/** A variable that is given twice: server-side apply and strategic merge know only one of that name. */
function environmentWarnings(field: string, container: JsonObject): string[] {
  const seen = new Set<string>()
  return objectsAt(container, 'env').flatMap((variable, index) => {
    const name = stringAt(variable, 'name')
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    // A value that builds on the one before is meant so.
    if (stringAt(variable, 'value').includes(`$(${name})`)) return []
    return [
      `${fieldPath(field, index)}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`,
    ]
  })
}
