// The attributes of a request for authorization, from its RequestInfo.
import type { UserInfo } from '@fairlead/kube'
import type { ServerRequest } from '../http/message.ts'
import type { Attributes } from '../identity/authorizer.ts'
import type { RequestInfo } from './request-info.ts'

/** Returns the attributes of a request. */
export function authorizationAttributes(request: ServerRequest, info: RequestInfo, user: UserInfo): Attributes {
  if (!info.isResourceRequest) return { user, verb: info.verb, path: request.path }
  const { verb, group, version, plural, subresource, namespace } = info
  const name = info.name === '' ? selectedName(request) : info.name
  // A Namespace itself is authorized within itself, as the real server does.
  const inside = plural === 'namespaces' && group === '' && namespace === '' ? info.name : namespace
  return {
    user,
    verb,
    group,
    version,
    resource: plural,
    ...(subresource === '' ? {} : { subresource }),
    ...(inside === '' ? {} : { namespace: inside }),
    ...(name === '' ? {} : { name }),
  }
}

/** Returns the name that a list or watch selects: it counts as a request for that name. */
function selectedName(request: ServerRequest): string {
  if (request.method !== 'GET') return ''
  const selector = request.query.get('fieldSelector') ?? ''
  return /(?:^|,)metadata\.name==?([^,=!\\]+)(?:,|$)/.exec(selector)?.[1] ?? ''
}
