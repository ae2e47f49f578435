// Names of kinds and fields from the names of an API: words in camel case, initialisms in capitals (originals/ack.md
// §2.4, checked against the CRDs that AWS ships).
import pluralize from 'pluralize'
import type { Identifier } from '../engine/reference-table.ts'

interface Initialism {
  readonly upper: string
  /** Continuation of a word that rules it out: `Id` is no initialism in `Identifier`. */
  readonly before?: RegExp
  readonly lower?: string
}

function plain(...names: readonly string[]): readonly (readonly [string, Initialism])[] {
  return names.map((name) => [name, { upper: name.toUpperCase() }] as const)
}

/** Beginnings of words that are written in capitals. The longest that fits a word is taken. */
const initialisms: ReadonlyMap<string, Initialism> = new Map<string, Initialism>([
  ...plain(
    'Acl',
    'Acm',
    'Acp',
    'Aiml',
    'Ami',
    'Api',
    'Arn',
    'Asn',
    'Aws',
    'Az',
    'Bgp',
    'Cidr',
    'Cname',
    'Cors',
    'Cps',
    'Cpu',
  ),
  ...plain(
    'Crl',
    'Csr',
    'Dhcp',
    'Dns',
    'Dpd',
    'Ebs',
    'Ec2',
    'Ecmp',
    'Ecs',
    'Efs',
    'Eks',
    'Fifo',
    'Fpga',
    'Gid',
    'Gpu',
    'Grpc',
  ),
  ...plain(
    'Html',
    'Https',
    'Iam',
    'Icmp',
    'Iops',
    'Ipam',
    'Ipc',
    'Ja3',
    'Json',
    'Jwt',
    'Kms',
    'Ldap',
    'Mfa',
    'Ocsp',
    'Oidc',
  ),
  ...plain(
    'Pca',
    'Pid',
    'Ram',
    'Rfc',
    'Sasl',
    'Scram',
    'Sdk',
    'Sha256',
    'Sns',
    'Sql',
    'Sqli',
    'Sqs',
    'Sriov',
    'Sse',
    'Ssl',
  ),
  ...plain(
    'Tcp',
    'Tde',
    'Tls',
    'Tpm',
    'Udp',
    'Uid',
    'Url',
    'Uuid',
    'Vgw',
    'Vlan',
    'Vpce',
    'Vpn',
    'Waf',
    'Xml',
    'Xss',
    'Yaml',
  ),
  ['Id', { upper: 'ID', before: /^(?:entifier|entit|empotency|le)/ }],
  ['Db', { upper: 'DB' }],
  ['Dbi', { upper: 'DBI' }],
  ['Ip', { upper: 'IP', before: /^(?:art|am)/ }],
  ['Ipv4', { upper: 'IPv4', lower: 'ipv4' }],
  ['Ipv6', { upper: 'IPv6', lower: 'ipv6' }],
  ['Ecr', { upper: 'ECR' }],
  ['Edi', { upper: 'EDI', before: /^t/ }],
  ['Ena', { upper: 'ENA', before: /^bl/ }],
  ['Http', { upper: 'HTTP' }],
  ['Io', { upper: 'IO', before: /^ps/ }],
  ['Mibps', { upper: 'MiBps', lower: 'miBps' }],
  ['Nat', { upper: 'NAT', before: /^i/ }],
  ['Oid', { upper: 'OID', before: /^c/ }],
  ['Ttl', { upper: 'TTL', before: /^(?:ing|e)/ }],
  ['Ui', { upper: 'UI', before: /^d/ }],
  ['Uri', { upper: 'URI' }],
  ['Vpc', { upper: 'VPC', before: /^e/ }],
  ['Awsvpc', { upper: 'AWSVPC', lower: 'awsVPC' }],
  ['Ramdisk', { upper: 'RAMDisk', lower: 'ramDisk' }],
])

const longest = Math.max(...[...initialisms.keys()].map((name) => name.length))

/** Returns the initialism that a word begins with, and its length. */
function initialismOf(word: string): readonly [Initialism, number] | undefined {
  const camel = `${word[0]?.toUpperCase()}${word.slice(1).toLowerCase()}`
  for (let length = Math.min(longest, word.length); length > 1; length--) {
    const found = initialisms.get(camel.slice(0, length))
    if (found === undefined || found.before?.test(camel.slice(length)) === true) continue
    // Capitals that go on, as in the APN of `APNS`, are another word.
    return [found, length]
  }
  return undefined
}

/** Splits a run of capitals into initialisms from its left: `SSEKMS` is SSE and KMS; one that is none stays whole. */
function splitCapitals(run: string): readonly string[] {
  const words: string[] = []
  let rest = run
  while (rest !== '') {
    const found = initialismOf(rest)
    if (found === undefined) return words.length === 0 ? [run] : [...words, rest]
    words.push(rest.slice(0, found[1]))
    rest = rest.slice(found[1])
  }
  return words
}

/** Splits a name at changes from small letters to capitals; a run of capitals keeps its last for the next word. */
function wordsOf(name: string): readonly string[] {
  return name
    .split(/[^A-Za-z0-9]+/)
    .filter((part) => part !== '')
    .flatMap((part) => part.match(/I[Pp]v[46]s?|[A-Z]+(?![a-z])[0-9]*s?(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]+/g) ?? [part])
    .flatMap((word) => (/^[A-Z]{2,}[0-9]*s?$/.test(word) ? splitCapitals(word) : [word]))
}

function capital(word: string): string {
  const found = initialismOf(word)
  if (found === undefined) return `${word[0]?.toUpperCase()}${word.slice(1)}`
  const [{ upper }, length] = found
  return `${upper}${word.slice(length)}`
}

function small(word: string): string {
  const found = initialismOf(word)
  if (found === undefined)
    return /^[A-Z0-9]+$/.test(word) ? word.toLowerCase() : `${word[0]?.toLowerCase()}${word.slice(1)}`
  const [{ upper, lower }, length] = found
  return `${lower ?? upper.toLowerCase()}${word.slice(length)}`
}

/** Returns the name of a kind: `Vpc` is `VPC`. */
export function kindName(name: string): string {
  return wordsOf(name).map(capital).join('')
}

/** Returns the name of a field in a manifest: `ExecutionRoleArn` is `executionRoleARN`. */
export function fieldName(name: string): string {
  const [first = '', ...rest] = wordsOf(name)
  return `${small(first)}${rest.map(capital).join('')}`
}

/** Returns the plural of a kind in small letters, as in a resource. */
export function pluralName(kind: string): string {
  return pluralize.plural(kind).toLowerCase()
}

/** Returns the singular of a name. */
export function singularName(name: string): string {
  return pluralize.singular(name)
}

/** Reports whether a name is plural: its singular differs. */
export function isPlural(name: string): boolean {
  return pluralize.singular(name) !== name
}

/** Endings of API names that say which identifier a field takes; the first that fits is cut (originals/ack.md §1.2). */
const identifierEndings = [
  'id',
  'ids',
  'Id',
  'Ids',
  'ID',
  'IDs',
  'IDS',
  'Name',
  'Names',
  'NAME',
  'NAMEs',
  'NAMES',
  'Arn',
  'Arns',
  'ARN',
  'ARNs',
  'ARNS',
]

/** Names of reference fields: `seed` adds Ref to the field, `ack` cuts the identifier from the API name before. */
export type ReferenceNaming = 'seed' | 'ack'

/**
 * Returns the name of the reference field of an API field; undefined when nothing is left of it. `Uuid` keeps its `id`:
 * an ending is cut at the begin of a word only.
 */
export function referenceName(name: string, list: boolean, naming: ReferenceNaming): string | undefined {
  if (naming === 'seed') return `${fieldName(name)}${list ? 'Refs' : 'Ref'}`
  const ending = identifierEndings.find((one) => name.endsWith(one) && isWordStart(name, name.length - one.length))
  const stem = ending === undefined ? name : name.slice(0, name.length - ending.length)
  if (stem === '') return undefined
  return `${fieldName(list ? singularName(stem) : stem)}${list ? 'Refs' : 'Ref'}`
}

/** Returns the sort of identifier that a field holds, as far as its name or path says. */
export function identifierSort(path: string): Identifier | undefined {
  const name = path.slice(path.lastIndexOf('.') + 1)
  const ending = /(?:^arn|ARN|Arn|^name|Name|^id|ID|Id)$/.exec(name)?.[0]
  return ending === undefined || /uuid$/i.test(name) ? undefined : (ending.toLowerCase() as Identifier)
}

function isWordStart(name: string, at: number): boolean {
  return /[A-Z]/.test(name[at] ?? '') && !/^UUID|^Uuid/.test(name.slice(Math.max(0, at - 2)))
}
