import { fileURLToPath } from 'node:url'
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { conditionOf, healthOfResources, stageFor, testTimeout, waitForReady } from '../../supply-chain/stage.ts'
import type { ExampleStage } from '../../supply-chain/stage.ts'

const workload = { apiVersion: 'carto.run/v1alpha1', kind: 'Workload' }
let stage: ExampleStage

beforeEach(async () => {
  stage = await stageFor(fileURLToPath(new URL('.', import.meta.url)))
})
afterEach(() => stage[Symbol.asyncDispose]())

const ready = (name: string, status: string, reason: string): Promise<KubeObject> =>
  waitForReady(stage.client, workload, `default/${name}`, [status, reason])

const loadBalancer = ['True', 'MatchedField', 'status.loadBalancer: {}']
const always = ['True', 'AlwaysHealthy', '']

describe("the proposal's health rules", { timeout: testTimeout }, () => {
  test('are True for the Workload whose App is deployed', async () => {
    const { status } = await ready('healthy', 'True', 'Ready')
    expect(healthOfResources(status)).toEqual({
      'source-provider': ['True', 'ReadyCondition', 'Fetched revision: main/5f1b0c1'],
      deployer: ['True', 'MatchedCondition', 'ReconcileSucceeded: True: Deployed'],
      'service-creator': loadBalancer,
      'configmap-creator': always,
    })
    expect(conditionOf(status, 'ResourcesHealthy')).toEqual(['True', 'HealthyConditionRule', ''])
  })

  test('are False for the one whose App fails, with the message in Ready, until it recovers', async () => {
    const { status } = await ready('failing', 'False', 'HealthyConditionRule')
    const message = "status.conditions['ReconcileFailed'].status: True: Some kapp useful error message"
    expect(healthOfResources(status)['deployer']).toEqual(['False', 'MatchedField', message])
    expect(conditionOf(status, 'Ready')).toEqual(['False', 'HealthyConditionRule', `resource [deployer]: ${message}`])
    const merge = { spec: { source: { git: { ref: { branch: 'main' } } } } }
    await stage.client.patch(workload, 'default/failing', { merge })
    await ready('failing', 'True', 'Ready')
  })

  test('are Unknown for the one whose repository cannot be reached', async () => {
    const { status } = await ready('unknown', 'Unknown', 'MissingValueAtPath')
    expect(healthOfResources(status)).toEqual({
      'source-provider': ['Unknown', 'ReadyCondition', 'condition with type [Ready] not found on resource status'],
      deployer: ['Unknown', 'NoStampedObject', ''],
      'service-creator': loadBalancer,
      'configmap-creator': always,
    })
    expect(conditionOf(status, 'ResourcesHealthy')?.[0]).toBe('Unknown')
  })
})
