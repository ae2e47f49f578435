// Runs the API server as the program does: certificates and kubeconfig as files, until a signal arrives.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  ApiServer,
  admissionPluginNames,
  AuditFile,
  ListenError,
  signingKey,
  verificationKeys,
} from '@fairlead/apiserver'
import { makeCertificates, memory, serverVersion, sqlite, StoreError, writePrivate } from '@fairlead/apiserver'
import type { AuditSink, KeyPair } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import { AsyncDisposableStack } from '@fairlead/kube'
import { CommandError, usageError } from '@fairlead/offline/command-error'
import { saveMemory } from '../save-memory.ts'
import { configuredAddress } from '../up/configured-address.ts'
import { readAs, serverOptions, textOf } from './options.ts'
import type { ProgramOptions } from './options.ts'
import { readTokens } from './token-file.ts'

/**
 * Admission plugins of kube-apiserver that are always on here: they are part of the namespace checks, or of the
 * defaulting of pods, nodes, claims and ingresses.
 */
const builtinPlugins = new Set([
  'NamespaceLifecycle',
  'TaintNodesByCondition',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'DefaultIngressClass',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
])

/** Polling interval for the parent process, in milliseconds: no event announces its exit. */
const parentCheckInterval = 1000

/**
 * Runs the server until SIGINT or SIGTERM, or until its parent has ended. Throws CommandError for every error that the
 * user can fix.
 */
export async function serve(options: ProgramOptions, name: string): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${name}: ${line}\n`)
  for (const note of admissionNotes(options)) say(note)
  await using resources = new AsyncDisposableStack()
  // Used before the server, so that it is closed after it.
  const audit = resources.use(await openAuditLog(options.auditLog, say))
  const tls = await servingCertificate(options)
  const server = resources.use(await startServer(options, audit, say))
  // Until here a signal ends the process at once: nothing is under way that it could lose.
  const stopped = Promise.race([signalReceived(), parentEnded(options.parent)])
  const { host, port, advertiseAddress, kubeconfig } = options
  try {
    const listening = await server.listen({
      host,
      port,
      http2: options.http2,
      administrator: kubeconfig !== undefined,
      ...(tls && { tls }),
      ...(advertiseAddress !== undefined && { advertiseAddress }),
    })
    if (kubeconfig !== undefined) writePrivate(kubeconfig, listening.kubeconfig)
    say(`Serving Kubernetes ${serverVersion['gitVersion']} at ${listening.url}`)
    saveMemory()
    if (kubeconfig === undefined && options.clientCa === undefined && options.tokenFile === undefined)
      say('no client can log in: start it with --write-kubeconfig, --client-ca-file or --token-auth-file')
  } catch (error) {
    if (error instanceof ListenError) throw new CommandError(error.message, 1, { cause: error })
    throw error
  }
  await stopped
}

/** Resolves when a signal asks the program to stop; a second SIGINT ends it at once. */
function signalReceived(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (isStopping && signal === 'SIGINT') process.exit(130)
        isStopping = true
        resolve()
      })
    }
  })
}

/**
 * Resolves when the given parent has exited, so that this process has another one; never resolves without a parent. A
 * test suite that panics, or that `go test -timeout` kills, does not stop its child processes.
 */
function parentEnded(parent: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (parent === undefined) return
    const check = (): void => {
      if (process.ppid === parent) systemClock.timer(parentCheckInterval, check)
      else resolve()
    }
    check()
  })
}

async function startServer(
  options: ProgramOptions,
  audit: AuditSink | undefined,
  say: (line: string) => void,
): Promise<ApiServer> {
  const tokens = options.tokenFile === undefined ? [] : tokensOf(options.tokenFile)
  const settings = serverOptions(options, tokens, { admissionPluginNames, signingKey, verificationKeys })
  const { hostAddresses } =
    options.resolve.length > 0 ? await import('@fairlead/offline') : { hostAddresses: undefined }
  const resolve = hostAddresses?.(options.resolve) ?? new Map<string, string>()
  const hosts = [options.host, options.advertiseAddress].filter((host) => host !== undefined)
  try {
    return await ApiServer.start({
      storage: options.data === undefined ? memory() : sqlite(options.data),
      ...settings,
      ...(audit && { audit }),
      certificateHosts: hosts,
      resolve: async (host, port) => configuredAddress(resolve, host, port),
      onError: (error) => say(`could not finish work: ${error instanceof Error ? error.message : String(error)}`),
    })
  } catch (error) {
    if (error instanceof StoreError) throw new CommandError(error.message, 1, { cause: error })
    throw error
  }
}

function tokensOf(file: string): ReturnType<typeof readTokens> {
  const text = textOf('token-auth-file', file)
  return readAs('token-auth-file', file, () => readTokens(text))
}

/** Returns the serving certificate that the flags name; undefined for one of the server's own authority. */
async function servingCertificate(options: ProgramOptions): Promise<KeyPair | undefined> {
  const { certificateFile, keyFile, certificateFolder } = options
  if (certificateFile !== undefined) {
    return checked('tls-cert-file', certificateFile, {
      cert: textOf('tls-cert-file', certificateFile),
      key: textOf('tls-private-key-file', keyFile!),
    })
  }
  if (certificateFolder === undefined) return undefined
  const [certPath, keyPath] = [join(certificateFolder, 'apiserver.crt'), join(certificateFolder, 'apiserver.key')]
  if (existsSync(certPath) && existsSync(keyPath))
    return checked('cert-dir', certificateFolder, {
      cert: textOf('cert-dir', certPath),
      key: textOf('cert-dir', keyPath),
    })
  const hosts = [options.host, options.advertiseAddress].filter((host) => host !== undefined)
  const { ca, server } = await makeCertificates({ clock: systemClock, hosts })
  // With its CA, so that clients can use the file as their trust bundle.
  const pair = { key: server.key, cert: `${server.cert.trim()}\n${ca.cert}` }
  writePrivate(keyPath, pair.key)
  writePrivate(certPath, pair.cert)
  return pair
}

/** Returns the pair if its key matches its certificate. Throws a usage error. */
function checked(flag: string, file: string, pair: KeyPair): KeyPair {
  return readAs(flag, file, () => {
    if (new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))) return pair
    throw new Error('the private key does not match the certificate')
  })
}

/** Opens the file of `--audit-log-path`; undefined without it. */
async function openAuditLog(
  path: string | undefined,
  say: (line: string) => void,
): Promise<(AuditSink & AsyncDisposable) | undefined> {
  if (path === undefined) return undefined
  if (path === '-') {
    return {
      write: (event) => void process.stdout.write(`${JSON.stringify(event)}\n`),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }
  try {
    return await AuditFile.open(path, (error) => say(`audit events are no longer written: ${error.message}`))
  } catch (error) {
    throw usageError(`--audit-log-path ${path} cannot be written: ${(error as Error).message}`)
  }
}

/** Returns a line for each admission plugin that a flag names and that cannot be switched. */
function admissionNotes({ enabledAdmission, disabledAdmission }: ProgramOptions): readonly string[] {
  const isKnown = (name: string): boolean => admissionPluginNames.some((known) => known === name)
  return [
    ...enabledAdmission
      .filter((name) => !isKnown(name) && !builtinPlugins.has(name))
      .map((name) => `--enable-admission-plugins: ${name} is not supported`),
    ...disabledAdmission
      .filter((name) => builtinPlugins.has(name))
      .map((name) => `--disable-admission-plugins: ${name} cannot be disabled`),
  ]
}
