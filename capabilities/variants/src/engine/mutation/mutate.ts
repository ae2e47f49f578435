// All changes of a variant to a package, in their order: package context, functions, injection (spec variants §2.2).
import type { Pipeline } from '@fairlead/packages'
import type { PackageVariantSpec } from '../../api.ts'
import { withContext } from './package-context.ts'
import { onceFunctions, withFunctions } from './pipeline.ts'
import { injectionPoints } from './injection-point.ts'
import type { InjectionPoint } from './injection-point.ts'
import { withInjection } from './injection.ts'
import type { InjectionDecision } from './injection.ts'
import type { PackageText } from './package-text.ts'

/** The port of the changes: functions to run, and objects to read. */
export interface MutationPort {
  /** Runs functions that are not stored. */
  runOnce(files: PackageText, functions: Pipeline): Promise<{ files: PackageText; failure: string | undefined }>
  decide(points: readonly InjectionPoint[]): Promise<readonly InjectionDecision[]>
}

/** A package after the changes. */
export interface Mutation {
  readonly files: PackageText
  readonly isChanged: boolean
  readonly decisions: readonly InjectionDecision[]
  /** Errors of injection points; nothing is saved then. */
  readonly errors: readonly string[]
  /** The message of the functions that run once and failed; nothing is saved then. */
  readonly failure: string | undefined
}

/** Returns a package with the changes of a variant. @throws MutationError, PackageError */
export async function mutate(
  files: PackageText,
  { name, spec }: { readonly name: string; readonly spec: PackageVariantSpec },
  port: MutationPort,
): Promise<Mutation> {
  const { packageContext, pipeline, downstream } = spec
  const context = withContext(files, { variant: name, packageName: downstream.package, packageContext })
  const named = withFunctions(context, name, pipeline)
  const once = onceFunctions(pipeline)
  const { files: run, failure } =
    once === undefined ? { files: named, failure: undefined } : await port.runOnce(named, once)
  const { points, errors } = injectionPoints(run)
  if (failure !== undefined || errors.length > 0) return { files, isChanged: false, decisions: [], errors, failure }
  const decisions = await port.decide(points)
  const injected = withInjection(run, decisions)
  return { files: injected, isChanged: !sameFiles(files, injected), decisions, errors, failure }
}

function sameFiles(before: PackageText, after: PackageText): boolean {
  const paths = Object.keys(after)
  return paths.length === Object.keys(before).length && paths.every((path) => before[path] === after[path])
}
