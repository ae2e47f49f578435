// Public API of @fairlead/aws/services: the calls of the five kinds, and the shapes of the services. Start with
// `managerFor`. Loaded when the first object is reconciled.
export { managerFor } from './managers.ts'
export { SdkApi } from './sdk-api.ts'
export type { SdkOptions } from './sdk-api.ts'
export type { ApiObject, ApiValue, ServiceApi } from './service-api.ts'
export { serviceModel } from '../engine/service-model.ts'
export type { ServiceName } from '../engine/service-model.ts'
