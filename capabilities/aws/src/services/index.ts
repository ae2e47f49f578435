// Public API of @fairlead/aws/services: the calls of the five kinds. Start with `managerFor`. Loaded with the first call,
// with the shapes of the services.
export { managerFor } from './managers.ts'
export { SdkApi } from './sdk-api.ts'
export type { SdkOptions } from './sdk-api.ts'
export type { ApiObject, ApiValue, ServiceApi } from './service-api.ts'
export { serviceModel } from '../engine/service-model.ts'
export type { ServiceName } from '../engine/service-model.ts'
