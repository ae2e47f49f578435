// Type checking of policies: their expressions are compiled with `object` as each of the types that their rules name.
// Type errors become warnings in the policy's status, since rules may match types that do not exist yet.
import {
  authorizerDeclaration,
  builtinSchema,
  compileVariables,
  Expression,
  requestDeclarations,
} from '@fairlead/builtin-kinds'
import type { Declarations, ResourceDefinition, VersionDefinition } from '@fairlead/builtin-kinds'
import { parseApiVersion } from '@fairlead/kube'
import type { SchemaNode, TypeSchema } from '@fairlead/kube'
import { declarationOf, types } from '@fairlead/kube/cel'
import type { CelType } from '@fairlead/kube/cel'
import type { ValidatingAdmissionPolicy } from './policy.ts'
import { originRules } from '../../objects/origin-rules.ts'

/** One entry of `status.typeChecking.expressionWarnings`. */
export interface ExpressionWarning {
  readonly fieldRef: string
  readonly warning: string
}

/** The most types that one policy is checked against, as in the real server. */
const maxTypes = 10

interface CheckedType {
  /** `apps/v1, Kind=Deployment`. */
  readonly name: string
  readonly type: CelType
}

/** Returns the type errors in the expressions of a policy, for the types that are served now. */
export function typeWarnings(
  policy: ValidatingAdmissionPolicy,
  definitions: Iterable<ResourceDefinition>,
): readonly ExpressionWarning[] {
  const known = [...definitions]
  const checked = typesOf(policy, known)
  if (checked.length === 0) return []
  const params = paramsType(policy, known)
  const scopes = checked.map(({ name, type }) => ({ name, scope: scopeOf(policy, type, params) }))
  const warningsAt = (fieldRef: string, text: string | undefined): ExpressionWarning[] => {
    if (text === undefined || text === '') return []
    const messages = scopes.flatMap(({ name, scope }) => {
      const { problem } = new Expression(text, scope)
      return problem === undefined ? [] : [`${name}: ${problem.replace(/^compilation failed: /, '')}`]
    })
    return messages.length === 0 ? [] : [{ fieldRef, warning: messages.join('\n') }]
  }
  return (policy.spec?.validations ?? []).flatMap(({ expression, messageExpression }, index) => [
    ...warningsAt(`spec.validations[${index}].expression`, expression),
    ...warningsAt(`spec.validations[${index}].messageExpression`, messageExpression),
  ])
}

function scopeOf({ spec }: ValidatingAdmissionPolicy, type: CelType, params: CelType | undefined): Declarations {
  const plain = {
    ...requestDeclarations,
    ...authorizerDeclaration,
    object: type,
    oldObject: type,
    ...(params === undefined ? {} : { params }),
  }
  return compileVariables(spec?.variables ?? [], plain).declarations
}

/** Returns the types that the rules name; wildcards and subresources name none. */
function typesOf({ spec }: ValidatingAdmissionPolicy, definitions: readonly ResourceDefinition[]): CheckedType[] {
  const found = new Map<string, CheckedType>()
  for (const rule of spec?.matchConstraints?.resourceRules ?? []) {
    const resources = (rule.resources ?? []).filter((text) => !/[*/]/.test(text))
    for (const group of plain(rule.apiGroups)) {
      for (const version of plain(rule.apiVersions)) {
        for (const plural of resources.toSorted()) {
          if (found.size >= maxTypes) return sorted(found)
          const definition = definitions.find((one) => one.group === group && one.plural === plural)
          const served = definition?.versions.find((one) => one.name === version && one.served)
          if (definition === undefined || served === undefined) continue
          const name = `${group}/${version}, Kind=${definition.kind}`
          found.set(name, { name, type: typeOf(definition, served) })
        }
      }
    }
  }
  return sorted(found)
}

function sorted(found: ReadonlyMap<string, CheckedType>): CheckedType[] {
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function plain(values: readonly string[] | undefined): readonly string[] {
  return values === undefined || values.includes('*') ? [] : values.toSorted()
}

function paramsType(
  { spec }: ValidatingAdmissionPolicy,
  definitions: readonly ResourceDefinition[],
): CelType | undefined {
  if (spec?.paramKind === undefined) return undefined
  const { apiVersion = '', kind } = spec.paramKind
  const { group, version } = parseApiVersion(apiVersion)
  const definition = definitions.find((one) => one.group === group && one.kind === kind)
  const served = definition?.versions.find((one) => one.name === version)
  return definition === undefined || served === undefined ? types.dyn : typeOf(definition, served)
}

function typeOf(definition: ResourceDefinition, { schema }: VersionDefinition): CelType {
  const whole = originRules(definition).isUnstructured ? schema && withMetadata(schema) : schema
  if (whole === undefined) return types.dyn
  return declarationOf(whole.root, whole)?.type ?? types.dyn
}

/** Adds the fields of every object, which the schema of a custom resource does not have. */
function withMetadata(schema: TypeSchema): TypeSchema {
  const common = builtinSchema('v1', 'ConfigMap')
  const metadata: SchemaNode = common?.root.properties?.['metadata'] ?? { type: 'object' }
  return {
    root: {
      ...schema.root,
      properties: { ...schema.root.properties, apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata },
    },
    resolve: (ref) => common?.resolve(ref),
  }
}
