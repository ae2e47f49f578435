// `fairlead doctor`: checks of this machine, of a cluster and of the installation in it.
import { isForbidden } from '@fairlead/kube'
import { systemClock } from '@fairlead/client'
import { exitCode } from '@fairlead/offline/command-error'
import { capabilities } from '../capabilities.ts'
import { parseOnly } from '../capability-options.ts'
import { clientFromKubeconfig } from '../connect.ts'
import { errorMessage } from '../error-message.ts'
import { defaultNamespace } from '../install/install-options.ts'
import { checkDefinitions } from './definition-check.ts'
import { fail, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { accountOf, checkInstallation } from './installation-check.ts'
import { checkRights } from './rights-check.ts'
import { checkMachine, checkServer } from './server-check.ts'

/** Checks, prints one line each, and sets the exit code: 1 when something has to be done. Throws usage errors. */
export async function doctor(raw: Readonly<Record<string, unknown>>): Promise<void> {
  const entries = raw['only'] === undefined ? capabilities : parseOnly(String(raw['only']))
  const isJson = raw['output'] === 'json'
  const findings: Finding[] = []
  const width = Math.max(...entries.map(({ name }) => `definitions of ${name}`.length))
  const report = (...found: readonly Finding[]): void => {
    findings.push(...found)
    if (!isJson) for (const finding of found) process.stdout.write(lineOf(finding, width))
  }
  report(...checkMachine())
  try {
    await checkCluster(raw, entries, report)
  } catch (error) {
    report(fail('cluster', errorMessage(error)))
  }
  if (isJson) process.stdout.write(`${JSON.stringify(findings, undefined, 2)}\n`)
  if (findings.some(({ status }) => status === 'fail')) process.exitCode = exitCode.error
}

async function checkCluster(
  raw: Readonly<Record<string, unknown>>,
  entries: typeof capabilities,
  report: (...found: readonly Finding[]) => void,
): Promise<void> {
  // The namespace is that of the installation, not the one that requests default to.
  const client = await clientFromKubeconfig({ kubeconfig: raw['kubeconfig'], context: raw['context'] })
  await using _transport = client.transport
  const { reachable, findings } = await checkServer(client, () => systemClock.now())
  report(...findings)
  if (!reachable) return
  const place = { namespace: String(raw['namespace'] ?? defaultNamespace), name: String(raw['name'] ?? 'fairlead') }
  const account = await accountOf(client, place)
  const loaded = await Promise.all(entries.map((entry) => entry.load()))
  if (account !== undefined) report(...(await checkInstallation(client, account, loaded)))
  for (const capability of loaded) {
    const { finding, isInstalled } = await checkDefinitions(capability, client)
    report(finding)
    if (!isInstalled) continue
    try {
      report(await checkRights(capability, client, account))
    } catch (error) {
      if (!isForbidden(error)) throw error
      report(warn(`rights of ${capability.name}`, `cannot be asked for with yours: ${error.message}`))
    }
  }
}

/** Returns the line of a finding; `width` is that of the column of checks. */
function lineOf({ status, check, message }: Finding, width: number): string {
  return `${status.padEnd(4)}  ${check.padEnd(width)}  ${message}\n`
}
