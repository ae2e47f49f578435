import { expect, test } from 'vitest'
import { CommandError, formatPlan, planReference, printPlan, usageError } from '@fairlead/offline'
import type { Plan } from '@fairlead/offline'

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'a' } }

const plans: readonly Plan[] = [
  {
    title: 'Schedule a/nightly',
    notes: ['2 inputs'],
    parts: [
      {
        title: 'PersistentVolumeClaim a/data',
        actions: [
          { op: 'create', object: planReference(configMap), reason: 'Missing', configuration: configMap },
          {
            op: 'keep',
            object: { apiVersion: 'v1', kind: 'Namespace', name: 'a' },
            reason: 'UpToDate',
            message: 'nothing has changed',
          },
        ],
      },
      { title: 'PersistentVolumeClaim a/logs', error: 'the hook timed out' },
    ],
  },
]

test('formatPlan prints one line for each heading, note, error and action', () => {
  expect(formatPlan(plans)).toBe(`Schedule a/nightly
  2 inputs
  PersistentVolumeClaim a/data
    create  ConfigMap a/one  Missing
    keep    Namespace a  UpToDate: nothing has changed
  PersistentVolumeClaim a/logs
    ! the hook timed out`)
})

test('formatPlan prints the objects that would be applied as YAML', () => {
  expect(formatPlan(plans, 'yaml')).toBe('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n  namespace: a\n')
})

test('formatPlan prints everything as JSON', () => {
  expect(JSON.parse(formatPlan(plans, 'json'))).toEqual({ plans: JSON.parse(JSON.stringify(plans)) })
})

test('formatPlan refuses an unknown format as a mistake in usage', () => {
  const run = (): string => formatPlan(plans, 'xml')
  expect(run).toThrow(CommandError)
  expect(run).toThrow('There is no output format xml; there are text, yaml and json')
})

test('printPlan prints to the given function', () => {
  const lines: string[] = []
  printPlan((text) => void lines.push(text), [{ title: 'nothing to do' }])
  expect(lines).toEqual(['nothing to do'])
})

test('a usage error has exit code 2, every other command error 1 unless it says otherwise', () => {
  expect([usageError('a').exitCode, new CommandError('b').exitCode, new CommandError('c', 3).exitCode]).toEqual([
    2, 1, 3,
  ])
})
