// The load: owners that stamp one object each.
import type { KubeObject } from '@fairlead/kube'
import { thing } from './measured-cluster.ts'

const apiVersion = 'carto.run/v1alpha1'

/** Returns one supply chain with one template for each of `kinds` types of Workloads. */
export function chains(kinds: number): KubeObject[] {
  return Array.from({ length: kinds }, (_, index) => index).flatMap((index) => [
    {
      apiVersion,
      kind: 'ClusterTemplate',
      metadata: { name: `template-${index}` },
      spec: {
        healthRule: { singleConditionType: 'Ready' },
        template: {
          ...thing,
          metadata: { name: '$(workload.metadata.name)$' },
          spec: { owner: '$(workload.metadata.name)$', round: 0 },
        },
      },
    },
    {
      apiVersion,
      kind: 'ClusterSupplyChain',
      metadata: { name: `chain-${index}` },
      spec: {
        selector: { type: `type-${index}` },
        resources: [{ name: 'only', templateRef: { kind: 'ClusterTemplate', name: `template-${index}` } }],
      },
    },
  ]) as unknown as KubeObject[]
}

/** Returns Workloads; the first one has type 0, all others have type 1. */
export function workloads(count: number): KubeObject[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion,
    kind: 'Workload',
    metadata: { name: `workload-${index}`, namespace: 'default', labels: { type: `type-${index === 0 ? 0 : 1}` } },
    spec: { source: { git: { url: `https://example.com/${index}` } } },
  }))
}

/** Returns Runnables and their ClusterRunTemplate. */
export function runnables(count: number): KubeObject[] {
  const template = {
    ...thing,
    metadata: { generateName: '$(runnable.metadata.name)$-' },
    spec: { value: '$(runnable.spec.inputs.value)$' },
  }
  return [
    {
      apiVersion,
      kind: 'ClusterRunTemplate',
      metadata: { name: 'run' },
      spec: { template, outputs: { value: '.spec.value' } },
    } as unknown as KubeObject,
    ...Array.from({ length: count }, (_, index) => ({
      apiVersion,
      kind: 'Runnable',
      metadata: { name: `runnable-${index}`, namespace: 'default' },
      spec: { runTemplateRef: { name: 'run' }, inputs: { value: `value-${index}` } },
    })),
  ]
}
