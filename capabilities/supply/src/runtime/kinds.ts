// The kinds of carto.run, and the RBAC kinds that the controllers read.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { Blueprint, ClusterHealthRule, Owner, RunTemplate, Runnable, Template, TemplateKind } from '../api.ts'
import { apiVersion } from '../api.ts'

function own<T extends KubeObject>(name: string, plural: string, namespaced: boolean): Kind<T> {
  return kind<T>(apiVersion, name, { plural, namespaced })
}

/** Workloads, the owners of objects that supply chains stamp. */
export const workloadKind: Kind<Owner> = own('Workload', 'workloads', true)
/** Deliverables, the owners of objects that deliveries stamp. */
export const deliverableKind: Kind<Owner> = own('Deliverable', 'deliverables', true)
/** Supply chains, the blueprints of workloads. */
export const supplyChainKind: Kind<Blueprint> = own('ClusterSupplyChain', 'clustersupplychains', false)
/** Deliveries, the blueprints of deliverables. */
export const deliveryKind: Kind<Blueprint> = own('ClusterDelivery', 'clusterdeliveries', false)
/** Runnables, the owners of runs. */
export const runnableKind: Kind<Runnable> = own('Runnable', 'runnables', true)
/** Templates of runs. */
export const runTemplateKind: Kind<RunTemplate> = own('ClusterRunTemplate', 'clusterruntemplates', false)
/** Default health rules of kinds. */
export const healthRuleKind: Kind<ClusterHealthRule> = own('ClusterHealthRule', 'clusterhealthrules', false)

const templates: Readonly<Record<TemplateKind, Kind<Template>>> = {
  ClusterSourceTemplate: own('ClusterSourceTemplate', 'clustersourcetemplates', false),
  ClusterImageTemplate: own('ClusterImageTemplate', 'clusterimagetemplates', false),
  ClusterConfigTemplate: own('ClusterConfigTemplate', 'clusterconfigtemplates', false),
  ClusterDeploymentTemplate: own('ClusterDeploymentTemplate', 'clusterdeploymenttemplates', false),
  ClusterTemplate: own('ClusterTemplate', 'clustertemplates', false),
}

/** Returns the kind of a template. */
export function templateKind(name: TemplateKind): Kind<Template> {
  return templates[name]
}

const rbac = 'rbac.authorization.k8s.io/v1'
/** Kinds that grant rights in a namespace. */
export const roleKinds: readonly Kind[] = [
  kind(rbac, 'Role', { plural: 'roles', namespaced: true }),
  kind(rbac, 'RoleBinding', { plural: 'rolebindings', namespaced: true }),
]
/** Kinds that grant rights in the whole cluster. */
export const clusterRoleKinds: readonly Kind[] = [
  kind(rbac, 'ClusterRole', { plural: 'clusterroles', namespaced: false }),
  kind(rbac, 'ClusterRoleBinding', { plural: 'clusterrolebindings', namespaced: false }),
]
