// The options of the program, from its flags.
import { readFileSync } from 'node:fs'
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { KeyObject } from 'node:crypto'
import type { AdmissionPluginName, ApiServerOptions, ControllerName, StaticToken } from '@fairlead/apiserver'
import { usageError } from '@fairlead/offline/command-error'
import type { ParsedFlags } from './flags.ts'

/** Options of the program. */
export interface ProgramOptions {
  readonly host: string
  readonly port: number
  readonly advertiseAddress: string | undefined
  /** Folder of `apiserver.crt` and `apiserver.key`. */
  readonly certificateFolder: string | undefined
  readonly certificateFile: string | undefined
  readonly keyFile: string | undefined
  /** PEM. */
  readonly clientCa: string | undefined
  readonly tokenFile: string | undefined
  readonly anonymous: boolean
  readonly authorization: 'AlwaysAllow' | 'RBAC'
  readonly issuers: readonly string[]
  /** PEM, one for each file, with the name of the file. */
  readonly verificationKeys: readonly NamedText[]
  readonly signingKey: NamedText | undefined
  readonly keySetUri: string | undefined
  readonly audiences: readonly string[]
  readonly enabledAdmission: readonly string[]
  readonly disabledAdmission: readonly string[]
  /** A file, or `-`. */
  readonly auditLog: string | undefined
  /** Folder of the store; undefined for memory. */
  readonly data: string | undefined
  readonly http2: boolean
  readonly controllers: 'none' | 'crd' | 'all'
  readonly resolve: readonly string[]
  readonly kubeconfig: string | undefined
  /** Process id of the parent with which the program ends. */
  readonly parent: number | undefined
}

/** The text of a file. */
export interface NamedText {
  readonly file: string
  readonly text: string
}

const defaultPort = 6443
const modes = ['RBAC', 'AlwaysAllow', 'Node']

/** Returns the options. Throws a usage error that names the flag. */
export function programOptions({ values, incomplete, argument }: ParsedFlags): ProgramOptions {
  if (incomplete !== undefined) throw usageError(`--${incomplete} needs a value: write --${incomplete}=VALUE`)
  if (argument !== undefined) throw usageError(`unexpected argument ${argument}: every option is a flag`)
  const one = (name: string): string | undefined => values.get(name)?.at(-1) || undefined
  const all = (name: string): readonly string[] => (values.get(name) ?? []).filter((value) => value !== '')
  const list = (name: string): readonly string[] =>
    all(name)
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
  const text = (name: string): NamedText | undefined => {
    const file = one(name)
    return file === undefined ? undefined : { file, text: textOf(name, file) }
  }
  const certificateFile = one('tls-cert-file')
  const keyFile = one('tls-private-key-file')
  if ((certificateFile === undefined) !== (keyFile === undefined))
    throw usageError('--tls-cert-file and --tls-private-key-file belong together: name both, or neither')
  return {
    host: address('bind-address', one('bind-address')) ?? '127.0.0.1',
    port: port(one('secure-port')),
    advertiseAddress: address('advertise-address', one('advertise-address')),
    certificateFolder: one('cert-dir'),
    certificateFile,
    keyFile,
    clientCa: authorities(text('client-ca-file')),
    tokenFile: one('token-auth-file'),
    anonymous: truth('anonymous-auth', one('anonymous-auth') ?? 'true'),
    authorization: authorization(list('authorization-mode')),
    issuers: all('service-account-issuer'),
    verificationKeys: all('service-account-key-file').map((file) => ({
      file,
      text: textOf('service-account-key-file', file),
    })),
    signingKey: text('service-account-signing-key-file'),
    keySetUri: one('service-account-jwks-uri'),
    audiences: list('api-audiences'),
    enabledAdmission: list('enable-admission-plugins'),
    disabledAdmission: list('disable-admission-plugins'),
    auditLog: one('audit-log-path'),
    data: one('data'),
    http2: !truth('disable-http2-serving', one('disable-http2-serving') ?? 'false'),
    controllers: controllerSet(one('controllers') ?? 'crd'),
    resolve: all('resolve'),
    kubeconfig: one('write-kubeconfig'),
    parent: processId(one('parent-pid')),
  }
}

/** Returns the text of a file that a flag names. Throws a usage error. */
export function textOf(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw usageError(`--${flag} ${file} cannot be read: ${(error as Error).message}`)
  }
}

/** Returns what `read` makes of a file. Its error becomes a usage error that names flag and file. */
export function readAs<T>(flag: string, file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw usageError(`--${flag} ${file}: ${(error as Error).message}`)
  }
}

/** The parts of the API server's module that options need; it is loaded when everything else is right. */
export interface ServerModule {
  readonly admissionPluginNames: readonly AdmissionPluginName[]
  readonly signingKey: (pem: string) => KeyObject
  readonly verificationKeys: (pem: string) => readonly KeyObject[]
}

/** The controllers that run inside kube-apiserver, which expires events as well. */
const ownControllers: readonly ControllerName[] = ['crd', 'role-aggregation', 'events']

/** Returns the options of the API server, storage aside. */
export function serverOptions(
  options: ProgramOptions,
  tokens: readonly StaticToken[],
  { admissionPluginNames, signingKey, verificationKeys }: ServerModule,
): ApiServerOptions {
  const named = (names: readonly string[]): readonly AdmissionPluginName[] =>
    admissionPluginNames.filter((name) => names.includes(name))
  const { clientCa, issuers, audiences, keySetUri, controllers } = options
  const signer = options.signingKey
  return {
    authorization: options.authorization,
    anonymous: options.anonymous,
    tokens,
    ...(clientCa !== undefined && { clientCa }),
    serviceAccountTokens: {
      issuers,
      ...(audiences.length > 0 && { audiences }),
      ...(keySetUri !== undefined && { keySetUri }),
      ...(signer && {
        signingKey: readAs('service-account-signing-key-file', signer.file, () => signingKey(signer.text)),
      }),
      ...(options.verificationKeys.length > 0 && {
        verificationKeys: options.verificationKeys.flatMap(({ file, text }) =>
          readAs('service-account-key-file', file, () => verificationKeys(text)),
        ),
      }),
    },
    enabledAdmission: [...named(options.enabledAdmission), 'ServiceAccount'],
    disabledAdmission: named(options.disabledAdmission),
    ...(controllers !== 'all' && { controllers: controllers === 'none' ? false : ownControllers }),
  }
}

function authorities(file: NamedText | undefined): string | undefined {
  if (file !== undefined) readAs('client-ca-file', file.file, () => new X509Certificate(file.text))
  return file?.text
}

function address(flag: string, value: string | undefined): string | undefined {
  if (value === undefined || isIP(value) !== 0) return value
  throw usageError(`--${flag} ${value} is not an IP address: write one such as 127.0.0.1`)
}

function port(value: string | undefined): number {
  if (value === undefined) return defaultPort
  const number = Number(value)
  if (/^\d+$/.test(value) && number <= 65_535) return number
  throw usageError(`--secure-port ${value} is not a port: write a number from 0 to 65535 (0 takes any free one)`)
}

function processId(value: string | undefined): number | undefined {
  if (value === undefined || /^\d+$/.test(value)) return value === undefined ? undefined : Number(value)
  throw usageError(`--parent-pid ${value} is not a process id: write a number`)
}

function truth(flag: string, value: string): boolean {
  if (/^(1|t|true)$/i.test(value)) return true
  if (/^(0|f|false)$/i.test(value)) return false
  throw usageError(`--${flag}=${value}: write true or false`)
}

/** An authorizer that is left out would grant more than was meant: it is refused, not ignored. */
function authorization(names: readonly string[]): 'AlwaysAllow' | 'RBAC' {
  const unknown = names.filter((name) => !modes.includes(name))
  if (unknown.length > 0)
    throw usageError(`--authorization-mode ${unknown.join(',')} is not there: write RBAC, Node,RBAC or AlwaysAllow`)
  if (names.length === 1 && names[0] === 'Node')
    throw usageError('--authorization-mode Node alone would refuse everything but kubelets: write Node,RBAC')
  return names.length === 0 || names.includes('AlwaysAllow') ? 'AlwaysAllow' : 'RBAC'
}

function controllerSet(value: string): ProgramOptions['controllers'] {
  if (value === 'none' || value === 'crd' || value === 'all') return value
  throw usageError(`--controllers ${value}: write crd, all or none`)
}
