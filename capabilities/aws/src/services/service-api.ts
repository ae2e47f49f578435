// The calls to a service: operation and input in, output out, with the names of its API. Errors are AwsErrors.

/** Values of an input or output; times are Dates. */
export type ApiValue =
  | string
  | number
  | boolean
  | Date
  | Uint8Array
  | null
  | undefined
  | readonly ApiValue[]
  | ApiObject
/** An input or output. */
export interface ApiObject {
  readonly [name: string]: ApiValue
}

/** One service in one region. */
export interface ServiceApi {
  call(operation: string, input: ApiObject): Promise<ApiObject>
}
