// The attributes of a write for admission, from the scope of its request.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { AdmissionAttributes } from '../admission/attributes.ts'
import { writeOptionsObject } from '../admission/options-object.ts'
import type { RequestScope } from './request-scope.ts'

/** Returns the attributes of an operation. `options` builds DeleteOptions; other options come from the query. */
export function admissionAttributes(
  scope: RequestScope,
  operation: 'CREATE' | 'UPDATE' | 'DELETE',
  object: KubeObject | undefined,
  oldObject: KubeObject | undefined,
  dryRun: boolean,
  options: () => JsonObject = () =>
    writeOptionsObject(operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions', scope.query),
): AdmissionAttributes {
  const { resource, subresource, namespace, user, signal, warnings, presented } = scope
  return {
    operation,
    resource,
    subresource,
    namespace,
    name: nameFor(scope, operation, object),
    object: object && (presented?.of(object) ?? object),
    oldObject: oldObject && (presented?.of(oldObject) ?? oldObject),
    user,
    dryRun,
    signal,
    options,
    warnings,
  }
}

/**
 * Deletions of a whole collection reach admission once per object, without its name; a POST has the name in its object
 * only.
 */
function nameFor({ name, isCollection }: RequestScope, operation: string, object: KubeObject | undefined): string {
  if (isCollection === true) return ''
  return name === '' && operation === 'CREATE' ? (object?.metadata.name ?? '') : name
}
