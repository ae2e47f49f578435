// Function configs: what functions take from a ConfigMap or from a resource of their own kind.
import type { YAMLMap } from 'yaml'
import { textAt, textsAt } from '../engine/render/fields.ts'

/** A function config that cannot be used; the message is the function's. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'InvalidFunctionConfig'
}

/** API version of the configs that functions of the catalog define. */
export const functionApiVersion = 'fn.kpt.dev/v1alpha1'

/** Returns apiVersion and kind of a config; empty strings without one. */
export function configType(config: YAMLMap | undefined): { readonly apiVersion: string; readonly kind: string } {
  return {
    apiVersion: config === undefined ? '' : (textAt(config, 'apiVersion') ?? ''),
    kind: config === undefined ? '' : (textAt(config, 'kind') ?? ''),
  }
}

/** Returns the strings of a ConfigMap's `data`; none for any other config. */
export function configData(config: YAMLMap | undefined): Map<string, string> {
  return config === undefined ? new Map<string, string>() : textsAt(config, 'data')
}

/** Reports whether a config is a v1 ConfigMap. */
export function isConfigMap(config: YAMLMap | undefined): boolean {
  const { apiVersion, kind } = configType(config)
  return apiVersion === 'v1' && kind === 'ConfigMap'
}

/** Reports whether nothing was configured: no config, or the empty ConfigMap that kpt passes then. */
export function isEmptyConfig(config: YAMLMap | undefined): boolean {
  if (config === undefined || config.items.length === 0) return true
  return isConfigMap(config) && textAt(config, 'metadata', 'name') === 'function-input' && configData(config).size === 0
}
