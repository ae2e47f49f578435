// The hash of all inputs of a variant's save: while it and the draft's commit stay, no file is read.
import { createHash } from 'node:crypto'
import type { PackageVariantSpec, PackageVariantStatus } from '../api.ts'
import type { InjectionDecision } from '../engine/mutation/injection.ts'
import type { InjectionPoint } from '../engine/mutation/injection-point.ts'
import { parseApiVersion } from '@fairlead/kube'

/** Returns the hash of a variant's inputs. */
export function inputHash(
  spec: PackageVariantSpec,
  upstreamCommit: string | undefined,
  decisions: readonly InjectionDecision[],
): string {
  const { packageContext, pipeline, downstream } = spec
  const injected = decisions.map(({ point, status, source }) => [
    point.apiVersion,
    point.kind,
    point.name,
    status,
    source,
  ])
  const inputs = { packageContext, pipeline, package: downstream.package, upstreamCommit, injected }
  return createHash('sha256').update(JSON.stringify(inputs, bigints)).digest('hex').slice(0, 32)
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

/** Returns the injection points of the last save, from the status. */
export function knownPoints(status: PackageVariantStatus | undefined): readonly InjectionPoint[] {
  return (status?.injectionPoints ?? []).map(({ apiVersion, kind, name, required, injectedResource }) => ({
    file: '',
    apiVersion,
    ...parseApiVersion(apiVersion),
    kind,
    name,
    isRequired: required === true,
    injected: injectedResource,
  }))
}
