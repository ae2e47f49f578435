// Login by a plugin: kubeconfig names a command that prints an ExecCredential (client.authentication.k8s.io/v1 and
// v1beta1).
import { spawn } from 'node:child_process'
import * as path from 'node:path'
import { asJson, parseJson } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue } from '@fairlead/kube'
import { ClientError } from '../../client-error.ts'
import { FetchedLogin } from '../../login.ts'
import type { FetchedCredentials, Login } from '../../login.ts'

/** The field `exec` of a kubeconfig user. */
export interface ExecPlugin {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly installHint?: string
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always'
  /** The cluster that the plugin receives, with `provideClusterInfo`. */
  readonly cluster?: JsonObject
}

const versionWithDefault = 'client.authentication.k8s.io/v1beta1'
const versions: ReadonlySet<string> = new Set(['client.authentication.k8s.io/v1', versionWithDefault])

/** Reads the field `exec`. `file` is the kubeconfig that contains it. Throws Error for an invalid field. */
export function readExecPlugin(value: JsonObject, file: string, cluster: JsonObject): ExecPlugin {
  const { apiVersion, command, args, env, installHint, provideClusterInfo } = value
  // The older version has a default, the newer one has none (KEP-541).
  const { interactiveMode = apiVersion === versionWithDefault ? 'IfAvailable' : undefined } = value
  if (typeof command !== 'string' || command === '') throw new Error('exec has no command')
  if (typeof apiVersion !== 'string' || !versions.has(apiVersion))
    throw new Error(`exec has apiVersion ${String(apiVersion)}; there are ${[...versions].join(' and ')}`)
  if (interactiveMode !== 'Never' && interactiveMode !== 'IfAvailable' && interactiveMode !== 'Always')
    throw new Error(
      `exec has ${interactiveMode === undefined ? 'no interactiveMode' : `interactiveMode ${JSON.stringify(interactiveMode)}`}; there are Never, IfAvailable and Always`,
    )
  return {
    apiVersion,
    // As kubectl: a path is relative to the kubeconfig's folder, a name is looked up in PATH.
    command: /[/\\]/.test(command) ? path.resolve(path.dirname(file), command) : command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: Array.isArray(env)
      ? env.map((entry) => ({
          name: String(asJson(entry as object).name),
          value: String(asJson(entry as object).value),
        }))
      : [],
    installHint: typeof installHint === 'string' ? installHint : undefined,
    interactiveMode,
    cluster: provideClusterInfo === true ? cluster : undefined,
  }
}

/** Returns a login that runs the plugin whenever its credentials have expired or were not accepted. */
export function execLogin(plugin: ExecPlugin, clock: Clock): Login {
  return new FetchedLogin(async () => credentialsOf(await run(plugin), plugin, clock), clock)
}

function run(plugin: ExecPlugin): Promise<string> {
  const interactive = plugin.interactiveMode !== 'Never' && process.stdin.isTTY
  if (plugin.interactiveMode === 'Always' && !interactive)
    return Promise.reject(failed(plugin, 'it wants to ask questions, and there is no terminal'))
  const info = {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive, ...(plugin.cluster && { cluster: plugin.cluster }) },
  }
  const own = Object.fromEntries(plugin.env.map(({ name, value }) => [name, value]))
  return new Promise((resolve, reject) => {
    const child = spawn(plugin.command, plugin.args, {
      env: { ...process.env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout!.setEncoding('utf8')
    child.stdout!.on('data', (text: string) => (printed += text))
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(failed(plugin, error.code === 'ENOENT' ? 'it is not installed' : error.message, error)),
    )
    child.on('close', (code, signal) =>
      code === 0 ? resolve(printed) : reject(failed(plugin, `it ended with ${code ?? signal}`)),
    )
  })
}

function credentialsOf(printed: string, plugin: ExecPlugin, clock: Clock): FetchedCredentials {
  const { apiVersion, kind, status } = parsed(printed, plugin)
  if (kind !== 'ExecCredential' || apiVersion !== plugin.apiVersion)
    throw failed(plugin, `it printed no ExecCredential of ${plugin.apiVersion}`)
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = (status ?? {}) as JsonObject
  const credentials = {
    token: textOf(token),
    certificate: textOf(clientCertificateData),
    key: textOf(clientKeyData),
  }
  if ((credentials.certificate === undefined) !== (credentials.key === undefined))
    throw failed(plugin, 'it printed a client certificate without its key, or a key without its certificate')
  if (credentials.token === undefined && credentials.certificate === undefined)
    throw failed(plugin, 'it printed neither a token nor a client certificate')
  const expires = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.NaN
  return { credentials, usableFor: Number.isNaN(expires) ? undefined : expires - clock.now() }
}

function parsed(printed: string, plugin: ExecPlugin): JsonObject {
  try {
    return asJson(parseJson(printed) as object)
  } catch (cause) {
    throw failed(plugin, `it printed no JSON: ${(cause as Error).message}`, cause)
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function failed({ command, installHint }: ExecPlugin, why: string, cause?: unknown): ClientError {
  const hint = installHint === undefined ? '' : `\n${installHint.trim()}`
  return new ClientError('CredentialsFailed', `The login plugin ${command} gave no credentials: ${why}${hint}`, {
    cause,
  })
}
