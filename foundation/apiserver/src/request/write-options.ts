// The options of writes, from the query and, for deletes, the body: CreateOptions, UpdateOptions, PatchOptions,
// DeleteOptions.
import { badRequest, fieldErrors, goQuote, invalid, isJsonObject } from '@fairlead/kube'
import type { FieldError, JsonObject, JsonValue } from '@fairlead/kube'
import { booleanParameter, integerParameter } from './query.ts'

/** Treatment of unknown and repeated fields in a body. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** The common options of create, update and patch. */
export interface WriteOptions {
  readonly dryRun: boolean
  /** The field manager, from the query or the user agent. */
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
}

/** PatchOptions add `force`. */
export interface PatchOptions extends WriteOptions {
  readonly force: boolean
}

/** The deletion propagation of dependents. */
export type Propagation = 'Foreground' | 'Background' | 'Orphan'

/** DeleteOptions. */
export interface DeleteOptions {
  readonly dryRun: boolean
  readonly gracePeriodSeconds: number | undefined
  readonly propagationPolicy: Propagation | undefined
  readonly orphanDependents: boolean | undefined
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string }
}

const optionsGroup = 'meta.k8s.io'
const maxManagerBytes = 128

/**
 * Parses and validates the options of POST and PUT; `kind` is `CreateOptions` or `UpdateOptions`.
 * @throws StatusError 422
 */
export function writeOptions(
  kind: 'CreateOptions' | 'UpdateOptions',
  query: URLSearchParams,
  userAgent: string,
): WriteOptions {
  refuse(kind, commonErrors(query))
  return commonOptions(query, userAgent)
}

/**
 * Parses and validates the options of PATCH.
 * @throws StatusError 422
 */
export function patchOptions(query: URLSearchParams, userAgent: string, isApply: boolean): PatchOptions {
  const force = booleanParameter(query, 'force')
  const errors: FieldError[] = []
  if (isApply) {
    if ((query.get('fieldManager') ?? '') === '')
      errors.push(fieldErrors.required('fieldManager', 'is required for apply patch'))
  } else if (force !== undefined) {
    errors.push(fieldErrors.forbidden('force', 'may not be specified for non-apply patch'))
  }
  refuse('PatchOptions', [...errors, ...commonErrors(query)])
  return { ...commonOptions(query, userAgent), force: force ?? false }
}

/**
 * Parses and validates the options of DELETE: those of the body, or of the query without one.
 * @throws StatusError 400, 422
 */
export function deleteOptions(query: URLSearchParams, body: JsonValue | undefined): DeleteOptions {
  const given = body === undefined ? optionsFromQuery(query) : optionsFromBody(body)
  const errors: FieldError[] = []
  if (given.propagationPolicy !== undefined && given.orphanDependents !== undefined) {
    errors.push(
      fieldErrors.invalid(
        'propagationPolicy',
        given.propagationPolicy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    )
  }
  if (given.propagationPolicy !== undefined && !isPropagation(given.propagationPolicy)) {
    errors.push(
      fieldErrors.notSupported('propagationPolicy', given.propagationPolicy, [
        'Foreground',
        'Background',
        'Orphan',
        'nil',
      ]),
    )
  }
  refuse('DeleteOptions', [...errors, ...dryRunErrors(given.dryRun)])
  return {
    dryRun: given.dryRun.length > 0,
    gracePeriodSeconds: given.gracePeriodSeconds,
    propagationPolicy: given.propagationPolicy as Propagation | undefined,
    orphanDependents: given.orphanDependents,
    preconditions: given.preconditions,
  }
}

/** Returns the field manager of a client that names none: its user agent up to the slash. */
export function managerFromUserAgent(userAgent: string): string {
  let name = ''
  for (const character of userAgent.split('/')[0]!) {
    if (Buffer.byteLength(name + character) > maxManagerBytes) break
    if (isPrintable(character)) name += character
  }
  return name === '' ? 'unknown' : name
}

interface GivenDeleteOptions {
  readonly dryRun: readonly string[]
  readonly gracePeriodSeconds: number | undefined
  readonly propagationPolicy: string | undefined
  readonly orphanDependents: boolean | undefined
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string }
}

function optionsFromQuery(query: URLSearchParams): GivenDeleteOptions {
  return {
    gracePeriodSeconds: integerParameter(query, 'gracePeriodSeconds'),
    orphanDependents: booleanParameter(query, 'orphanDependents'),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    dryRun: query.getAll('dryRun'),
    preconditions: {},
  }
}

function optionsFromBody(body: JsonValue): GivenDeleteOptions {
  if (!isJsonObject(body)) throw badRequest('json: cannot unmarshal the body into Go value of type v1.DeleteOptions')
  const kind = stringField(body, 'kind')
  const version = stringField(body, 'apiVersion') ?? ''
  if (kind !== undefined && kind !== 'DeleteOptions') {
    throw badRequest(
      `no kind ${goQuote(kind)} is registered for version ${goQuote(version)} in scheme "pkg/runtime/scheme.go:111"`,
    )
  }
  const preconditions = isJsonObject(body['preconditions']) ? body['preconditions'] : {}
  return {
    gracePeriodSeconds: numberField(body, 'gracePeriodSeconds'),
    orphanDependents: typeof body['orphanDependents'] === 'boolean' ? body['orphanDependents'] : undefined,
    propagationPolicy: stringField(body, 'propagationPolicy'),
    dryRun: stringsField(body, 'dryRun'),
    preconditions: {
      uid: stringField(preconditions, 'uid'),
      resourceVersion: stringField(preconditions, 'resourceVersion'),
    },
  }
}

function stringField(object: JsonObject, name: string): string | undefined {
  const value = object[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw badRequest(`json: cannot unmarshal ${typeof value} into Go struct field DeleteOptions.${name} of type string`)
}

function stringsField(object: JsonObject, name: string): readonly string[] {
  const value = object[name]
  if (value === undefined || value === null) return []
  const target = `Go struct field DeleteOptions.${name} of type`
  if (!Array.isArray(value)) throw badRequest(`json: cannot unmarshal ${typeof value} into ${target} []string`)
  return value.map((item: JsonValue) => {
    if (typeof item === 'string') return item
    if (item === null) return ''
    throw badRequest(`json: cannot unmarshal ${Array.isArray(item) ? 'array' : typeof item} into ${target} string`)
  })
}

function numberField(object: JsonObject, name: string): number | undefined {
  const value = object[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw badRequest(`json: cannot unmarshal ${typeof value} into Go struct field DeleteOptions.${name} of type int64`)
}

function commonOptions(query: URLSearchParams, userAgent: string): WriteOptions {
  const manager = query.get('fieldManager') ?? ''
  const validation = query.get('fieldValidation') ?? ''
  return {
    dryRun: query.has('dryRun'),
    fieldManager: manager === '' ? managerFromUserAgent(userAgent) : manager,
    fieldValidation: validation === '' ? 'Warn' : (validation as FieldValidation),
  }
}

function commonErrors(query: URLSearchParams): FieldError[] {
  const errors = [...managerErrors(query.get('fieldManager') ?? ''), ...dryRunErrors(query.getAll('dryRun'))]
  const validation = query.get('fieldValidation') ?? ''
  if (!['', 'Ignore', 'Strict', 'Warn'].includes(validation)) {
    errors.push(fieldErrors.notSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']))
  }
  return errors
}

function managerErrors(manager: string): FieldError[] {
  const errors: FieldError[] = []
  if (Buffer.byteLength(manager) > maxManagerBytes) errors.push(fieldErrors.tooLong('fieldManager', maxManagerBytes))
  let at = 0
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      errors.push(fieldErrors.invalid('fieldManager', manager, `invalid character U+${code} (at position ${at})`))
    }
    at += Buffer.byteLength(character)
  }
  return errors
}

function dryRunErrors(dryRun: readonly string[]): FieldError[] {
  return dryRun.every((value) => value === 'All') ? [] : [fieldErrors.notSupported('dryRun', dryRun, ['All'])]
}

function isPropagation(value: string): value is Propagation {
  return value === 'Foreground' || value === 'Background' || value === 'Orphan'
}

/** Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols and the ASCII space. */
function isPrintable(character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)
}

function refuse(kind: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: optionsGroup, kind }, '', errors)
}
