// The options of list, watch and deletecollection.
import { badRequest, fieldErrors, invalid, parseFieldSelector, parseLabelSelector } from '@fairlead/kube'
import type { FieldError, FieldSelector, Selector } from '@fairlead/kube'
import { booleanParameter, integerParameter } from './query.ts'

/** ListOptions with parsed selectors; their fields are checked later, as they depend on the resource. */
export interface ListOptions {
  readonly labels: Selector
  readonly fields: FieldSelector
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
  readonly resourceVersion: string
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan'
  readonly timeoutSeconds: number | undefined
  /** 0 for no limit. */
  readonly limit: number
  readonly continueToken: string
}

/**
 * Parses the options. `isWatch` comes from the RequestInfo.
 * @throws StatusError 400 for values that cannot be parsed
 */
export function listOptions(query: URLSearchParams, isWatch: boolean): ListOptions {
  return {
    labels: readSelector(query, 'labelSelector', parseLabelSelector),
    fields: readSelector(query, 'fieldSelector', parseFieldSelector),
    watch: isWatch,
    allowWatchBookmarks: booleanParameter(query, 'allowWatchBookmarks') ?? false,
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: (query.get('resourceVersionMatch') ?? '') as ListOptions['resourceVersionMatch'],
    timeoutSeconds: integerParameter(query, 'timeoutSeconds'),
    limit: Math.max(0, integerParameter(query, 'limit') ?? 0),
    continueToken: query.get('continue') ?? '',
    sendInitialEvents: booleanParameter(query, 'sendInitialEvents'),
  }
}

/**
 * Validates options against each other.
 * @throws StatusError 422
 */
export function validateListOptions(options: ListOptions): void {
  const errors = options.watch ? watchErrors(options) : listErrors(options)
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors)
}

function readSelector<T>(query: URLSearchParams, name: string, parse: (text: string) => T): T {
  try {
    return parse(query.get(name) ?? '')
  } catch (error) {
    throw badRequest((error as Error).message)
  }
}

const matchField = 'resourceVersionMatch'

function listErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  const match = options.resourceVersionMatch
  if (match !== '') {
    if (options.resourceVersion === '') {
      errors.push(
        fieldErrors.forbidden(matchField, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      )
    }
    if (options.continueToken !== '') {
      errors.push(fieldErrors.forbidden(matchField, 'resourceVersionMatch is forbidden when continue is provided'))
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(fieldErrors.notSupported(matchField, match, ['Exact', 'NotOlderThan', '']))
    }
    if (match === 'Exact' && options.resourceVersion === '0') {
      errors.push(
        fieldErrors.forbidden(matchField, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      )
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(fieldErrors.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  return errors
}

function watchErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  const match = options.resourceVersionMatch
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(
      fieldErrors.forbidden(matchField, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    )
  }
  if (match !== '') {
    if (options.sendInitialEvents === undefined) {
      errors.push(
        fieldErrors.forbidden(
          matchField,
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      )
    }
    if (match !== 'NotOlderThan') errors.push(fieldErrors.notSupported(matchField, match, ['NotOlderThan']))
    if (options.continueToken !== '') {
      errors.push(fieldErrors.forbidden(matchField, 'resourceVersionMatch is forbidden when continue is provided'))
    }
  }
  return errors
}
