// Reads kubeconfig files as kubectl does: several files are merged, the first entry of a name wins, relative paths are
// relative to their file.
import { readFile } from 'node:fs/promises'
import * as path from 'node:path'
import { asJson, parseYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { ClientError } from '../client-error.ts'
import type { Impersonation } from '../impersonation.ts'
import type { Connection } from './connection.ts'
import { execLogin, readExecPlugin } from './login/exec-plugin.ts'
import { KubeconfigTokens } from './login/token-store.ts'
import { oidcLogin } from './login/oidc.ts'
import type { OidcProvider } from './login/oidc.ts'

interface NamedEntry {
  readonly value: JsonObject
  /** The file that contains it, for paths and messages. */
  readonly file: string
}

/** The sources of kubeconfig. */
export interface KubeconfigSources {
  /** One file, as `--kubeconfig` names it; it must exist. Nothing else is read then. */
  readonly file?: string
  /** `KUBECONFIG` (a list of files) and `HOME` are taken from here; the process's own when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Overrides of the current context; the flags of kubectl. */
export interface ConnectionChoice {
  readonly context?: string
  readonly cluster?: string
  readonly user?: string
  readonly namespace?: string
}

/** Merged kubeconfig files. */
export class Kubeconfig {
  readonly clusters: ReadonlyMap<string, NamedEntry>
  readonly users: ReadonlyMap<string, NamedEntry>
  readonly contexts: ReadonlyMap<string, NamedEntry>
  readonly currentContext: string | undefined
  /** The files that it was read from. */
  readonly files: readonly string[]

  readonly #isOnDisk: boolean

  /**
   * `isOnDisk`: the documents were read from their files, so tokens that rotate are written back there, as kubectl
   * does.
   */
  constructor(
    documents: readonly { readonly file: string; readonly content: JsonObject }[],
    isOnDisk: boolean = false,
  ) {
    this.#isOnDisk = isOnDisk
    this.files = documents.map((document) => document.file)
    this.clusters = entries(documents, 'clusters', 'cluster')
    this.users = entries(documents, 'users', 'user')
    this.contexts = entries(documents, 'contexts', 'context')
    this.currentContext = documents
      .map((document) => text(document.content['current-context']))
      .find((name) => name !== undefined)
  }

  /** Reports whether no cluster and no context was found. */
  get isEmpty(): boolean {
    return this.clusters.size === 0 && this.contexts.size === 0
  }

  /**
   * Returns the connection of a context, the current one when left out. Reads the certificate files that it names.
   * Throws ClientError `InvalidKubeconfig` or `UnsupportedCredentials`.
   */
  async connection(choice: ConnectionChoice = {}): Promise<Connection> {
    const contextName = choice.context ?? this.currentContext
    const context = contextName === undefined ? undefined : this.contexts.get(contextName)
    if (contextName !== undefined && context === undefined) throw this.#missing('context', contextName, this.contexts)
    const clusterName = choice.cluster ?? text(context?.value.cluster)
    if (clusterName === undefined && this.isEmpty)
      throw invalid(
        this.files[0],
        'there is no kubeconfig with a cluster; set KUBECONFIG to the path of one, or name it where you connect',
      )
    if (clusterName === undefined)
      throw invalid(this.files[0], 'no current-context is set; run `kubectl config use-context NAME` or name a context')
    const cluster = this.clusters.get(clusterName)
    if (cluster === undefined) throw this.#missing('cluster', clusterName, this.clusters)
    const userName = choice.user ?? text(context?.value.user)
    const user = userName === undefined ? undefined : this.users.get(userName)
    if (userName !== undefined && user === undefined) throw this.#missing('user', userName, this.users)
    const reached = await clusterConnection(cluster, clusterName)
    return {
      ...reached,
      ...(user === undefined
        ? {}
        : await userConnection(user, userName!, clusterInfo(cluster, reached), this.#isOnDisk)),
      namespace: choice.namespace ?? text(context?.value.namespace) ?? 'default',
    }
  }

  #missing(what: string, name: string, known: ReadonlyMap<string, unknown>): ClientError {
    const names = [...known.keys()]
    return invalid(
      this.files.join(', '),
      `there is no ${what} "${name}"${names.length === 0 ? '' : `; there are ${names.join(', ')}`}`,
    )
  }
}

/**
 * Reads kubeconfig: the file named, else those of `KUBECONFIG` (missing ones are passed over), else `~/.kube/config`.
 * Throws ClientError `InvalidKubeconfig`.
 */
export async function loadKubeconfig(sources: KubeconfigSources = {}): Promise<Kubeconfig> {
  const env = sources.env ?? process.env
  const listed = (env.KUBECONFIG ?? '').split(path.delimiter).filter((file) => file !== '')
  const home = env.HOME ?? env.USERPROFILE
  const files =
    sources.file !== undefined
      ? [sources.file]
      : listed.length > 0
        ? listed
        : home === undefined
          ? []
          : [path.join(home, '.kube', 'config')]
  const documents: { file: string; content: JsonObject }[] = []
  for (const file of new Set(files)) {
    const content = await readDocument(file, sources.file !== undefined)
    if (content !== undefined) documents.push({ file, content })
  }
  return new Kubeconfig(documents, true)
}

/**
 * Parses one kubeconfig. `file` is the base of relative paths and the name in messages. Throws ClientError
 * `InvalidKubeconfig`.
 */
export function parseKubeconfig(content: string, file = 'kubeconfig'): Kubeconfig {
  return new Kubeconfig([{ file, content: parseDocument(content, file) }])
}

async function readDocument(file: string, required: boolean): Promise<JsonObject | undefined> {
  let content: string
  try {
    content = await readFile(file, 'utf8')
  } catch (cause) {
    if (!required && (cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw invalid(file, `it cannot be read: ${(cause as Error).message}`, cause)
  }
  return parseDocument(content, file)
}

function parseDocument(content: string, file: string): JsonObject {
  let value: JsonValue
  try {
    value = content.trim() === '' ? {} : parseYaml(content)
  } catch (cause) {
    throw invalid(file, (cause as Error).message, cause)
  }
  if (!isObject(value)) throw invalid(file, 'it is not a mapping')
  if (value.kind !== undefined && value.kind !== 'Config')
    throw invalid(file, `its kind is ${JSON.stringify(value.kind)}, not Config`)
  return value
}

function entries(
  documents: readonly { file: string; content: JsonObject }[],
  list: string,
  field: string,
): Map<string, NamedEntry> {
  const found = new Map<string, NamedEntry>()
  for (const { file, content } of documents) {
    for (const item of (Array.isArray(content[list]) ? content[list] : []) as readonly JsonValue[]) {
      const name = isObject(item) ? text(item.name) : undefined
      if (name === undefined) throw invalid(file, `${list} has an entry without a name`)
      const value = asJson(item as object)[field]
      if (!found.has(name)) found.set(name, { file, value: isObject(value) ? value : {} })
    }
  }
  return found
}

async function clusterConnection(
  entry: NamedEntry,
  name: string,
): Promise<Pick<Connection, 'server' | 'ca' | 'insecure' | 'tlsServerName' | 'proxyUrl'>> {
  const { value, file } = entry
  const server = text(value.server) ?? 'http://localhost:8080'
  if (!/^https?:\/\//.test(server) || !URL.canParse(server))
    throw invalid(file, `cluster "${name}" has server ${JSON.stringify(server)}, which is not an http or https URL`)
  const proxyUrl = text(value['proxy-url'])
  if (proxyUrl !== undefined && !(/^(https?|socks5):\/\//.test(proxyUrl) && URL.canParse(proxyUrl)))
    throw invalid(file, `cluster "${name}" has proxy-url ${proxyUrl}, which is not an http, https or socks5 URL`)
  const insecure = value['insecure-skip-tls-verify'] === true
  const ca = await material(entry, 'certificate-authority', `cluster "${name}"`)
  if (insecure && ca !== undefined)
    throw invalid(
      file,
      `cluster "${name}" has both a certificate authority and insecure-skip-tls-verify; remove one of them`,
    )
  return { server, insecure, ca, proxyUrl, tlsServerName: text(value['tls-server-name']) }
}

async function userConnection(
  entry: NamedEntry,
  name: string,
  cluster: JsonObject,
  isOnDisk: boolean,
): Promise<Omit<Connection, 'server'>> {
  const { value, file } = entry
  const subject = `user "${name}"`
  const login = await loginOf(entry, name, cluster, isOnDisk)
  const certificate = await material(entry, 'client-certificate', subject)
  const key = await material(entry, 'client-key', subject)
  if ((certificate === undefined) !== (key === undefined))
    throw invalid(
      file,
      `${subject} has ${certificate ? 'a client certificate without its key' : 'a client key without its certificate'}`,
    )
  const tokenFile = text(value.tokenFile)
  return {
    certificate,
    key,
    ...(login && { login }),
    token: text(value.token),
    tokenFile: tokenFile === undefined ? undefined : beside(file, tokenFile),
    username: text(value.username),
    password: text(value.password),
    impersonate: impersonation(value),
  }
}

/**
 * Returns the login of a user. A token or a certificate beside a plugin takes precedence over it, as for kubectl.
 */
async function loginOf(
  entry: NamedEntry,
  name: string,
  cluster: JsonObject,
  isOnDisk: boolean,
): Promise<Connection['login']> {
  const subject = `user "${name}"`
  const { exec, 'auth-provider': provider, token, tokenFile, username } = entry.value
  if (isObject(exec)) {
    if (text(token) ?? text(tokenFile) ?? text(username)) return undefined
    try {
      const plugin = readExecPlugin(exec, entry.file, cluster)
      return (clock) => execLogin(plugin, clock)
    } catch (cause) {
      throw invalid(entry.file, `${subject}: ${(cause as Error).message}`, cause)
    }
  }
  if (!isObject(provider)) return undefined
  if (provider.name !== 'oidc')
    throw new ClientError(
      'UnsupportedCredentials',
      `${entry.file}: ${subject} logs in by auth-provider ${String(provider.name)}, which kubectl no longer supports; use its login plugin (exec)`,
    )
  const config = isObject(provider.config) ? provider.config : {}
  const [issuer, clientId] = [text(config['idp-issuer-url']), text(config['client-id'])]
  if (issuer === undefined || clientId === undefined)
    throw invalid(entry.file, `${subject}: auth-provider oidc needs idp-issuer-url and client-id`)
  const oidc: OidcProvider = {
    issuer,
    clientId,
    clientSecret: text(config['client-secret']),
    idToken: text(config['id-token']),
    refreshToken: text(config['refresh-token']),
    ca: await material({ ...entry, value: config }, 'idp-certificate-authority', subject),
    ...(isOnDisk && { store: new KubeconfigTokens(entry.file, name, { issuer, clientId }) }),
  }
  return (clock) => oidcLogin(oidc, clock)
}

/** Returns the cluster that login plugins receive (ExecCredential `spec.cluster`). */
function clusterInfo({ value }: NamedEntry, reached: Pick<Connection, 'server' | 'ca' | 'insecure'>): JsonObject {
  const {
    'tls-server-name': tlsServerName,
    'proxy-url': proxyUrl,
    'disable-compression': disableCompression,
    extensions,
  } = value
  const extension = Array.isArray(extensions)
    ? extensions.map((one) => asJson(one as object)).find(({ name }) => name === 'client.authentication.k8s.io/exec')
    : undefined
  return {
    server: reached.server,
    ...(reached.insecure ? { 'insecure-skip-tls-verify': true } : {}),
    ...(reached.ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(reached.ca).toString('base64') }),
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
    ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl }),
    ...(disableCompression === true ? { 'disable-compression': true } : {}),
    config: extension?.extension ?? null,
  }
}

/** Reads `<field>-data` (base64), else the file that `<field>` names. */
async function material(entry: NamedEntry, field: string, subject: string): Promise<Buffer | undefined> {
  const inline = text(entry.value[`${field}-data`])
  if (inline !== undefined) return Buffer.from(inline, 'base64')
  const file = text(entry.value[field])
  if (file === undefined) return undefined
  try {
    return await readFile(beside(entry.file, file))
  } catch (cause) {
    throw invalid(
      entry.file,
      `${subject} names ${field} ${file}, which cannot be read: ${(cause as Error).message}`,
      cause,
    )
  }
}

function impersonation(value: JsonObject): Impersonation | undefined {
  const user = text(value.as)
  if (user === undefined) return undefined
  const extra = isObject(value['as-user-extra'])
    ? (value['as-user-extra'] as unknown as Impersonation['extra'])
    : undefined
  const groups = Array.isArray(value['as-groups']) ? (value['as-groups'] as readonly string[]) : undefined
  return { user, uid: text(value['as-uid']), groups, extra }
}

function beside(file: string, named: string): string {
  return path.resolve(path.dirname(file), named)
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(file: string | undefined, message: string, cause?: unknown): ClientError {
  return new ClientError('InvalidKubeconfig', `${file ?? 'kubeconfig'}: ${message}`, { cause })
}
