// The options of a write as an object, the form in which webhooks and policies receive them.
import type { JsonObject } from '@fairlead/kube'
import type { DeleteOptions } from '../request/write-options.ts'

const optionsVersion = 'meta.k8s.io/v1'

/** Returns the CreateOptions or UpdateOptions of a query. */
export function writeOptionsObject(kind: 'CreateOptions' | 'UpdateOptions', query: URLSearchParams): JsonObject {
  const stringField = (field: string): JsonObject => {
    const value = query.get(field) ?? ''
    return value === '' ? {} : { [field]: value }
  }
  return {
    kind,
    apiVersion: optionsVersion,
    ...dryRunField(query),
    ...stringField('fieldManager'),
    ...stringField('fieldValidation'),
  }
}

/** Returns DeleteOptions as an object. */
export function deleteOptionsObject(options: DeleteOptions): JsonObject {
  const { dryRun, gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = options
  return {
    kind: 'DeleteOptions',
    apiVersion: optionsVersion,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions: { ...preconditions } }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  }
}

function dryRunField(query: URLSearchParams): JsonObject {
  const values = query.getAll('dryRun').filter((value) => value !== '')
  return values.length === 0 ? {} : { dryRun: values }
}
