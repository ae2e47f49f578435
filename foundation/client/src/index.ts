// The door of @fairlead/client.
export type * from './transport.ts'
