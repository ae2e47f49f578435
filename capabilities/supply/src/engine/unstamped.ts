// Resources that stamped nothing in a pass: their earlier object still runs, so its health is evaluated nevertheless
// (the purpose of the proposal: seeds/healthy-condition-rule.md).
import type { KubeObject } from '@fairlead/kube'
import type { Template } from '../api.ts'
import type { Cluster } from './cluster.ts'
import { verdict } from './conditions/condition.ts'
import { ruleOf } from './health/health.ts'
import { isOfTemplate } from './orphans.ts'
import type { RealizedResource } from './realized-resource.ts'
import { stampedHealth } from './stamped-health.ts'
import { outputPaths, readOutputs } from './values/output.ts'

/**
 * Returns the result of a resource that stamped nothing in this pass, with the object that its template stamped
 * earlier and the health of that.
 */
export async function withEarlierObject(
  { resource, template, submitted }: Pick<RealizedResource, 'resource' | 'template' | 'submitted'>,
  cluster: Cluster,
): Promise<RealizedResource> {
  const object = template === undefined ? undefined : await cluster.stampedEarlier(resource.name)
  if (template === undefined || object === undefined || !isOfTemplate(object, template)) {
    const hasRule = template !== undefined && ruleOf(template.spec).rule !== undefined
    const isWaiting = submitted.status === 'Unknown'
    const healthy = verdict('Unknown', hasRule || isWaiting ? 'NoStampedObject' : 'NoResource')
    return { resource, template, submitted, healthy, stamped: false }
  }
  const health = await stampedHealth(template, cluster, object, readableOutputs(template, object))
  const objectResource = await cluster.groupResourceOf(object)
  return { resource, template, object, objectResource, submitted, ...health, stamped: false }
}

function readableOutputs(template: Template, object: KubeObject): readonly string[] {
  const read = readOutputs(object, outputPaths(template))
  return 'outputs' in read ? Object.keys(read.outputs) : []
}
