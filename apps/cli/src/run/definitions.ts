// The kinds that a cluster must serve before capabilities start.
import { isClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { Capability, Logger } from '@fairlead/controller'
import { formatApiVersion, isAlreadyExists, isNotFound } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CommandError, exitCode } from '@fairlead/offline/command-error'
import { defaultsOf } from '../install/manifests.ts'
import { installDefaults } from '../up/defaults.ts'

/** Applies the namespace, the definitions and the default objects of capabilities. */
export async function install(client: Client, capabilities: readonly Capability[], namespace: string): Promise<void> {
  await client
    .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
  await installDefinitions(
    client,
    capabilities.flatMap(({ crds }) => crds),
  )
  await installDefaults(client, capabilities)
}

/**
 * Applies the default objects of capabilities' own kinds. The manifests of an installation cannot hold them, as their
 * kinds are not served in the same apply. Nothing is done for a capability whose defaults were left out: then the
 * namespace is missing.
 */
export async function completeDefaults(
  client: Client,
  capabilities: readonly Capability[],
  logger: Logger,
): Promise<void> {
  for (const capability of capabilities) {
    const printed = new Set(defaultsOf(capability))
    const own = (capability.defaults ?? []).filter((object) => !printed.has(object))
    if (own.length === 0) continue
    try {
      await installDefaults(client, [{ ...capability, defaults: own }])
    } catch (error) {
      if (!isNotFound(error))
        logger.warn('Could not apply default objects', { capability: capability.name, error: (error as Error).message })
    }
  }
}

/**
 * Checks by discovery, which every account may read, that the cluster serves all kinds of the capabilities. Throws
 * CommandError with exit code 3 that names those that are missing.
 */
export async function requireDefinitions(client: Client, capabilities: readonly Capability[]): Promise<void> {
  const missing = new Map<string, readonly string[]>()
  for (const { name, crds } of capabilities) {
    const served = await Promise.all(crds.map((definition) => isServed(client, definition)))
    const lacking = crds.filter((_, index) => !served[index]).map(({ metadata }) => metadata.name!)
    if (lacking.length > 0) missing.set(name, lacking)
  }
  if (missing.size === 0) return
  const list = [...missing].map(([name, definitions]) => `  ${name}: ${definitions.join(', ')}`).join('\n')
  throw new CommandError(
    `the cluster has no CustomResourceDefinitions for\n${list}\n` +
      `Install them with \`fairlead install --only ${[...missing.keys()].join(',')} | kubectl apply --server-side -f -\`, or start with --install-crds.`,
    exitCode.notReady,
  )
}

interface DefinitionSpec {
  readonly group: string
  readonly names: { readonly plural: string }
  readonly versions: readonly { readonly name: string; readonly served: boolean }[]
}

async function isServed(client: Client, definition: KubeObject): Promise<boolean> {
  const { group, names, versions } = definition['spec'] as unknown as DefinitionSpec
  for (const { name } of versions.filter(({ served }) => served)) {
    try {
      await client.discovery.kindOf(formatApiVersion(group, name), names.plural)
      return true
    } catch (error) {
      if (!isClientError(error, 'UnknownKind')) throw error
    }
  }
  return false
}
