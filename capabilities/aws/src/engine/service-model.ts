// The shapes of the services that this package carries.
import { readServiceModel } from '@fairlead/references/generator'
import type { ServiceModel } from '@fairlead/references/generator'
import { serviceModels } from '../generated/service-models.ts'

/** A service with carried shapes. */
export type ServiceName = keyof typeof serviceModels

const models = new Map<ServiceName, ServiceModel>()

/** Returns the carried shapes of a service. */
export function serviceModel(service: ServiceName): ServiceModel {
  let model = models.get(service)
  if (model === undefined) models.set(service, (model = readServiceModel(serviceModels[service])))
  return model
}
