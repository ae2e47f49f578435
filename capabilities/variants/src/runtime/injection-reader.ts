// Reads the objects that injection points take. The reads are recorded: a change of such an object wakes the variant.
import { CustomResourceDefinition, isKindNotServed, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { KindUnavailable } from '@fairlead/controller'
import type { Reader } from '@fairlead/controller'
import { isForbidden } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { PackageVariantSpec } from '../api.ts'
import { injectorsOf } from '../engine/variant/spec-errors.ts'
import { candidateNames, decideInjection, injectedField, isSecret } from '../engine/mutation/injection.ts'
import type { InjectionDecision, PointSources } from '../engine/mutation/injection.ts'
import type { InjectionPoint } from '../engine/mutation/injection-point.ts'

/** Reads of one variant in one pass. */
export class InjectionReader {
  readonly #read: Reader
  readonly #client: Client
  readonly #namespace: string
  readonly #injectors: NonNullable<PackageVariantSpec['injectors']>

  constructor(
    { read, client }: { readonly read: Reader; readonly client: Client },
    namespace: string,
    spec: PackageVariantSpec,
  ) {
    this.#read = read
    this.#client = client
    this.#namespace = namespace
    this.#injectors = injectorsOf(spec)
  }

  /** Decides about points. @throws KindUnavailable for a kind that is still being listed */
  async decide(points: readonly InjectionPoint[]): Promise<readonly InjectionDecision[]> {
    const decisions: InjectionDecision[] = []
    for (const point of points) decisions.push(decideInjection(point, this.#injectors, await this.#sources(point)))
    return decisions
  }

  async #sources(point: InjectionPoint): Promise<PointSources> {
    const names = candidateNames(point, this.#injectors)
    if (isSecret(point) || names.length === 0) return { objects: new Map() }
    const objects = new Map<string, KubeObject>()
    try {
      for (const name of names) {
        const object = await this.#read.get(kind(point.apiVersion, point.kind), { namespace: this.#namespace, name })
        if (object !== undefined) objects.set(name, object)
      }
      const problem = objects.size === 0 ? await this.#schemaProblem(point) : undefined
      return problem === undefined ? { objects } : { problem }
    } catch (error) {
      if (error instanceof KindUnavailable) {
        if (error.code === 'KindSyncing') throw error
        return {
          problem:
            error.code === 'KindAbsent'
              ? `the cluster has no schema of ${point.apiVersion} ${point.kind}`
              : error.message,
        }
      }
      if (isKindNotServed(error)) return { problem: `the cluster has no schema of ${point.apiVersion} ${point.kind}` }
      if (isForbidden(error)) return { problem: error.message }
      throw error
    }
  }

  /** Returns why no object of the kind can be injected, whatever its name. */
  async #schemaProblem({ apiVersion, group, version, kind: name }: InjectionPoint): Promise<string | undefined> {
    if (!group.includes('.') || group.endsWith('.k8s.io')) return undefined
    const { plural } = await this.#client.discovery.resource({ apiVersion, kind: name })
    const definition = await this.#read.get(CustomResourceDefinition, { namespace: '', name: `${plural}.${group}` })
    const schema = (definition as unknown as DefinitionWithSchemas | undefined)?.spec.versions.find(
      (one) => one.name === version,
    )?.schema?.openAPIV3Schema
    if (schema === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return undefined
    const field = injectedField({ group, kind: name })
    return (schema['properties'] as JsonObject | undefined)?.[field] === undefined
      ? `the schema of ${apiVersion} ${name} has no field ${field}`
      : undefined
  }
}

interface DefinitionWithSchemas {
  readonly spec: {
    readonly versions: readonly { readonly name: string; readonly schema?: { readonly openAPIV3Schema?: JsonObject } }[]
  }
}
