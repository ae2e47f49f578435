// The YAML dialect of kubectl and the API server. It is neither 1.1 nor 1.2: yes/no/on/off are booleans and 0777 is
// octal as in 1.1, but timestamps and 12:30 stay strings, and 0o17 is octal too.
import type { DocumentOptions, ParseOptions, ScalarTag, SchemaOptions, Tags } from 'yaml'

const newOctal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  identify: (value) => typeof value === 'bigint',
  default: true,
  format: 'OCT',
  test: /^[-+]?0o_*[0-7][0-7_]*$/,
  resolve: (text) => {
    const digits = text.replaceAll('_', '')
    return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits.replace('+', ''))
  },
}

/** Scalars without the digit that Go requires of a number are strings: `.`, `e3`, `-.5e`, `._5` and `0x_`. */
const hasDigits: Readonly<Record<string, string>> = {
  'tag:yaml.org,2002:float': '^(?=[-+]?\\.?\\d|[-+]?\\.[iInN])',
  'tag:yaml.org,2002:int': '^(?![-+]?0[xb]_*$)',
  'tag:yaml.org,2002:int OCT': '^(?![-+]?0_+$)',
}

let made: { readonly from: Tags; readonly tags: Tags } | undefined

/** Returns the tags of the dialect. The library asks for them for every document, always with the same ones. */
function dialect(from: Tags): Tags {
  if (made === undefined || made.from.length !== from.length || from.some((tag, index) => tag !== made!.from[index]))
    made = { from, tags: dialectTags(from) }
  return made.tags
}

/** Tags that Go does not know: their values are strings, and lists as they are written. */
const unknown = ['timestamp', 'omap', 'pairs']

/** Returns the tags of YAML 1.1 without those that Go does not know and base 60, with `0o`. */
function dialectTags(tags: Tags): Tags {
  const kept = tags.filter((tag) => {
    if (typeof tag === 'string') return !unknown.includes(tag) && !tag.endsWith('Time')
    return !unknown.includes(tag.tag.replace('tag:yaml.org,2002:', '')) && tag.format !== 'TIME'
  })
  return [newOctal, ...kept.map(demandDigits)]
}

function demandDigits(tag: Tags[number]): Tags[number] {
  const ahead = typeof tag === 'string' ? undefined : (hasDigits[`${tag.tag} ${tag.format}`] ?? hasDigits[tag.tag])
  if (ahead === undefined || typeof tag === 'string' || !('test' in tag) || tag.test === undefined) return tag
  return { ...tag, test: new RegExp(ahead + tag.test.source.slice(1), tag.test.flags) }
}

/** Options of the `yaml` library for this dialect. */
export const dialectOptions: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  schema: 'yaml-1.1',
  customTags: dialect,
  intAsBigInt: true,
  uniqueKeys: false,
  keepSourceTokens: false,
  strict: true,
  prettyErrors: false,
  logLevel: 'silent',
}
