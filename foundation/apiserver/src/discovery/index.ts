// Discovery and OpenAPI: documents as pure functions of the registry, and the routes that serve them.
export { apiGroupDiscoveryList } from './aggregated-discovery.ts'
export { apiGroups } from './api-groups.ts'
export type { ApiGroup, ApiGroupVersion, VersionedResource } from './api-groups.ts'
export { discoveryRoute } from './discovery-route.ts'
export { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy-documents.ts'
export { openApiDocument } from './openapi/document.ts'
export { openApiRoute } from './openapi/openapi-route.ts'
export { openApiV2Route } from './openapi/openapi-v2.ts'
