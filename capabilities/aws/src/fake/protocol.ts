// The protocols of the fake: AWS JSON 1.1 for SageMaker, the query protocol with XML for IAM and STS.
import type { Fields } from './fake-context.ts'
import { FakeError } from './fake-error.ts'

/** A call as it came over HTTP. */
export interface ReceivedCall {
  readonly service: 'sagemaker' | 'iam' | 'sts'
  readonly region: string
  readonly operation: string
  readonly input: Fields
}

/** A response. */
export interface SentResponse {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

const namespaces = {
  iam: 'https://iam.amazonaws.com/doc/2010-05-08/',
  sts: 'https://sts.amazonaws.com/doc/2011-06-15/',
}

/** Returns region and service of the signature's scope; the service decides which of the query APIs is meant. */
function scopeOf(authorization: string | undefined): { readonly region: string; readonly service: string } {
  const [, region = 'us-east-1', service = ''] =
    /Credential=[^/]+\/\d+\/([^/]+)\/([^/]+)\/aws4_request/.exec(authorization ?? '') ?? []
  return { region, service }
}

/** Reads a call. Throws FakeError for what is none. */
export function readCall(headers: Readonly<Record<string, string | string[] | undefined>>, body: string): ReceivedCall {
  const { region, service } = scopeOf(headers['authorization'] as string | undefined)
  const target = headers['x-amz-target']
  if (typeof target === 'string') {
    if (!target.startsWith('SageMaker.'))
      throw new FakeError('UnknownOperationException', `the fake AWS has no ${target}`, 404)
    try {
      const input = JSON.parse(body === '' ? '{}' : body) as Fields
      return { service: 'sagemaker', region, operation: target.slice('SageMaker.'.length), input }
    } catch {
      throw new FakeError('SerializationException', 'the body is not JSON')
    }
  }
  const parameters = new URLSearchParams(body)
  const operation = parameters.get('Action')
  if (operation === null) throw new FakeError('MissingAction', 'the request names no Action')
  return { service: service === 'sts' ? 'sts' : 'iam', region, operation, input: fieldsOf(parameters) }
}

type Node = { [name: string]: Node | string }

/** Returns the fields of a query, whose lists are numbered. */
function fieldsOf(parameters: URLSearchParams): Fields {
  const root: Node = {}
  for (const [name, value] of parameters) {
    if (name === 'Action' || name === 'Version') continue
    const steps = name.split('.')
    let at = root
    for (const step of steps.slice(0, -1)) {
      const next = at[step]
      at = typeof next === 'object' ? next : (at[step] = {})
    }
    at[steps.at(-1) as string] = value
  }
  return Object.fromEntries(Object.entries(root).map(([name, value]) => [name, plain(value)]))
}

function plain(value: Node | string): unknown {
  if (typeof value === 'string') return value
  const { member } = value
  if (typeof member === 'object')
    return Object.entries(member)
      .toSorted(([a], [b]) => Number(a) - Number(b))
      .map(([, item]) => plain(item))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]))
}

/** Returns the response to a call that succeeded. */
export function successOf({ service, operation }: ReceivedCall, output: Fields, requestId: string): SentResponse {
  if (service === 'sagemaker')
    return { status: 200, contentType: 'application/x-amz-json-1.1', body: JSON.stringify(output) }
  const result = `<${operation}Result>${elements(output)}</${operation}Result>`
  const metadata = `<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata>`
  return {
    status: 200,
    contentType: 'text/xml',
    body: `<${operation}Response xmlns="${namespaces[service]}">${result}${metadata}</${operation}Response>`,
  }
}

/** Returns the response to a call that was refused. */
export function failureOf(isQuery: boolean, { code, message, status }: FakeError, requestId: string): SentResponse {
  if (!isQuery)
    return { status, contentType: 'application/x-amz-json-1.1', body: JSON.stringify({ __type: code, message }) }
  const error = `<Error><Type>Sender</Type><Code>${escape(code)}</Code><Message>${escape(message)}</Message></Error>`
  return {
    status,
    contentType: 'text/xml',
    body: `<ErrorResponse xmlns="${namespaces.iam}">${error}<RequestId>${requestId}</RequestId></ErrorResponse>`,
  }
}

function elements(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `<${name}>${content(value)}</${name}>`)
    .join('')
}

function content(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+Z$/, 'Z')
  if (Array.isArray(value)) return value.map((item) => `<member>${content(item)}</member>`).join('')
  if (typeof value === 'object' && value !== null) return elements(value as Fields)
  return escape(String(value))
}

function escape(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
