// Checks the words of the sources: `node scripts/check-words.js [--wrap] [FOLDER or FILE …]`. Refuses the words of
// `rules`, doc comments that open with a question word, and comments beyond 120 columns; `--wrap` refills such comments
// first. Without arguments it checks src/ and crds/ of every package, scripts, tests across packages, benchmarks and
// examples.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const columns = 120

/**
 * @typedef {object} Rule
 * @property {RegExp} pattern matched without regard to case, in lines whose identifiers are split (`isGone` -> `is Gone`)
 * @property {string} say the words to use instead
 * @property {boolean} [cased] the pattern is matched as written
 * @property {'comment' | 'code'} [where] limits the rule to comments, or to code with its strings
 * @property {RegExp} [under] limits the rule to a folder
 * @property {RegExp} [notUnder] exempts a folder
 * @property {readonly RegExp[]} [unless] true uses: a line that matches one is accepted
 */

/** @type {readonly Rule[]} */
const rules = [
  { pattern: /\btold\b/, say: 'notified, reported, given' },
  // "to tell apart" is to distinguish.
  { pattern: /\btells?\b/, say: 'notify, report, say, distinguish', unless: [/\btells? [\w ]{0,30}\bapart\b/] },
  { pattern: /\bhears?\b|\bheard\b/, say: 'onEvent, receive, watch' },
  { pattern: /\bwhom(ever)?\b|\bwhoever\b/, say: 'the caller, the user, the client' },
  // "nobody" is the user of that name in container images.
  {
    pattern: /\bnobody\b|\bsomebody\b|\beverybody\b/,
    say: 'no client, a caller, every user',
    unless: [/uid 65534|['"]nobody['"]/],
  },
  { pattern: /\bdoors?\b/, say: 'entry point, public API, listener' },
  {
    pattern: /\ba texts?\b(?! (file|editor|format|message|node|block|template|area|input|stream|frame))/,
    say: 'string',
  },
  { pattern: /\btexts\b/, say: 'strings', where: 'comment' },
  // structured-merge-diff's own word for the paths in a field set, TypeScript's for the declarations in a class, Smithy's
  // for the fields of a shape.
  {
    pattern: /\bmembers\b/,
    say: 'fields, entries, replicas',
    notUnder: /^foundation\/kube\/src\/merge\/|^scripts\/reference\/|\/smithy-model\.ts$/,
  },
  {
    pattern: /\bmember\b/,
    say: 'field, entry, replica',
    where: 'comment',
    notUnder: /^foundation\/kube\/src\/merge\//,
  },
  { pattern: /\bstands?\b|\bstood\b/, say: 'is, represents', where: 'comment' },
  // 410 Gone is a status of HTTP, and `Gone` its reason in a Status.
  { pattern: /\bgone\b/, say: 'deleted, missing, closed', unless: [/410|['"`]Gone['"`]/] },
  { pattern: /\bpictures?\b/, say: 'snapshot, index, state' },
  { pattern: /\bbooks?\b/, say: 'index, state, log' },
  // `turns` of test/support waits for turns of the event loop.
  {
    pattern: /\bturns?\b/,
    say: 'KeyedMutex, lock, reconcile',
    where: 'code',
    notUnder: /^test\/support\//,
    unless: [/later.?turn|next.?turn/],
  },
  {
    pattern: /\bturn of (a|the|its|each) group\b|\btakes? (its|the|a|their) turn\b/,
    say: 'reconcile, lock',
    where: 'comment',
  },
  // Metadata has a `selfLink`, IP addresses are link-local, documents have hyperlinks.
  {
    pattern: /\blinks?\b/,
    say: 'admission plugin',
    under: /^foundation\/apiserver\/src/,
    unless: [/\{@link|self ?link|link-local|symlink|hard link|hyperlink|fs\.link/],
  },
  // Tokens have audiences, and a token may be for one audience.
  { pattern: /\baudience\b/, say: 'watcherCount', under: /apiserver\/src\/storage\// },
  {
    pattern: /\bfloors?\b/,
    say: 'compactedRevision',
    under: /\/storage\//,
    unless: [/math\.floor|(table|into|from) floor/],
  },
  { pattern: /\btroubles?\b/, say: 'lastError, error, failure' },
  { pattern: /\bhabits?\b/, say: 'options' },
  { pattern: /\bgrounds?\b/, say: 'the name of the port (Cluster, Stamper)', under: /supply/, unless: [/background/] },
  { pattern: /\b# ?notes\b|\bgroup.?notes\b/, say: 'GroupState', under: /map/ },
  { pattern: /\bExchange\b|\bResource Call\b/, cased: true, say: 'RequestScope', under: /^foundation\/apiserver\/src/ },
  {
    pattern: /(?<!Cel |cel\.)\bEnvironment\b(?=[,;)}\s>]|$)/,
    cased: true,
    say: 'ServerDependencies',
    where: 'code',
    under: /^foundation\/apiserver\/src/,
  },
  { pattern: /\bRefusals?\b/, cased: true, say: 'FieldError', where: 'code' },
  {
    pattern: /\bleads To\b|\bTake Over\b|\bUpstream Finder\b/,
    cased: true,
    say: 'resolve, UpgradeHandler, APIServiceResolver',
  },
  { pattern: /\b(an|the|its|their|his|no|every|each|this) answers?\b/, say: 'response, result', where: 'comment' },
  { pattern: /\b(is|are|was|were|been|be|whatever|than|as) asked\b/, say: 'requested, called', where: 'comment' },
  { pattern: /\brooms?\b/, say: 'folder, space', where: 'comment' },
  { pattern: /\bcomes? into being\b|\bcame into being\b/, say: 'is created' },
  { pattern: /\bwhat came of\b/, say: 'the result of' },
]

/** Messages of the real API server and of other programs, kept as they are: lines that contain one are not checked for words. */
const exactMessages = [
  // staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go
  'the object provided is unrecognized',
]

const openers = /^(Who|Whom|Whose|Whoever|What|Whatever|How|Whether)\b/

const folders = [
  ...['foundation', 'capabilities'].flatMap((group) =>
    packagesIn(group).flatMap((name) => [`${group}/${name}/src`, `${group}/${name}/crds`]),
  ),
  ...packagesIn('apps').flatMap((name) => [`apps/${name}/src`, `apps/${name}/bin`]),
  'scripts',
  'test',
  'bench',
  'examples',
]

function packagesIn(group) {
  return readdirSync(join(root, group))
}

function filesOf(path) {
  let entry
  try {
    entry = statSync(path)
  } catch {
    return []
  }
  if (entry.isFile()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter(
      (name) =>
        /\.(tsx?|js|yaml)$/.test(name) &&
        !/(^|\/)(generated|node_modules|dist|\.[^/]+)\//.test(name.replaceAll('\\', '/')),
    )
}

/** Where the comment of a line begins; undefined when it has none. Comments after code count when no quote follows. */
function commentStart(line, isYaml) {
  if (isYaml) return /^\s*#/.exec(line)?.[0].length
  const whole = /^\s*(\/\/|\/\*\*?|\*)(?=\s|$|\/)/.exec(line)
  if (whole !== null) return whole[0].length
  const after = /\s\/\/ (?!.*['"`])/.exec(line)
  return after === null ? undefined : after.index
}

const split = (line) => line.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/#(?=[a-z])/g, '# ')

function wordProblems(name, lines) {
  const problems = []
  const isYaml = name.endsWith('.yaml')
  const applicable = rules.filter(
    ({ under, notUnder }) => (under === undefined || under.test(name)) && notUnder?.test(name) !== true,
  )
  const check = (line, number, kind) => {
    const words = split(line)
    for (const rule of applicable) {
      if (rule.where !== undefined && rule.where !== kind) continue
      const found = new RegExp(rule.pattern.source, rule.cased === true ? 'g' : 'gi')
      const exceptions = (rule.unless ?? []).map(({ source }) => new RegExp(source, 'i'))
      const match = found.exec(words)
      if (match !== null && !exceptions.some((exception) => exception.test(words) || exception.test(line)))
        problems.push(`${name}:${number}: "${match[0].trim()}": say ${rule.say}`)
    }
  }
  for (const [index, line] of lines.entries()) {
    if (exactMessages.some((message) => line.includes(message))) continue
    if (/^\s*(import|export) .*\sfrom '(?!\.)/.test(line)) continue
    const at = commentStart(line, isYaml)
    if (at === undefined) check(line, index + 1, isYaml ? 'comment' : 'code')
    else {
      if (line.slice(0, at).trim() !== '') check(line.slice(0, at), index + 1, 'code')
      check(line.slice(at), index + 1, 'comment')
    }
  }
  return problems
}

function openingProblems(name, lines) {
  if (name.endsWith('.yaml')) return []
  return lines.flatMap((line, index) => {
    const one =
      /^\s*\/\*\* (.*)/.exec(line)?.[1] ??
      (/^\s*\/\*\*$/.test(line) ? /^\s*\* (.*)/.exec(lines[index + 1] ?? '')?.[1] : undefined)
    const opening = one ?? (index === 0 ? /^\/\/ (.*)/.exec(line)?.[1] : undefined)
    const word = opening === undefined ? undefined : openers.exec(opening)?.[0]
    return word === undefined
      ? []
      : [
          `${name}:${index + 1}: a comment opens with "${word}": begin with a verb or a noun that says what it is or returns`,
        ]
  })
}

function widthProblems(name, lines) {
  if (name.endsWith('.yaml')) return []
  return lines.flatMap((line, index) =>
    isTooWide(line) ? [`${name}:${index + 1}: a comment of ${line.length} columns: wrap it at ${columns}`] : [],
  )
}

/** Directives and single unbreakable words, such as addresses, may be longer. */
function isTooWide(line) {
  if (line.length <= columns || commentStart(line, false) === undefined) return false
  return !/oxlint-disable|https?:\S+$/.test(line)
}

/** Refills the paragraphs of comments in which a line is too wide. */
function wrapped(lines) {
  const result = []
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]
    const single = /^(\s*)\/\*\* (.*) \*\/$/.exec(line)
    if (single !== null && isTooWide(line)) {
      const [, indent, content] = single
      result.push(`${indent}/**`, ...refill([content], `${indent} * `), `${indent} */`)
      continue
    }
    const start = /^(\s*(?:\/\/|\*(?!\/)) )(.*)$/.exec(line)
    if (start === null) {
      const opening = /^(\s*)\/\*\* (.*)$/.exec(line)
      if (opening !== null && isTooWide(line)) {
        lines[index] = `${opening[1]} * ${opening[2]}`
        result.push(`${opening[1]}/**`)
        index--
      } else result.push(line)
      continue
    }
    const [, prefix] = start
    const paragraph = [start[2]]
    let next = index + 1
    for (; next < lines.length; next++) {
      const more = lines[next]
      if (!more.startsWith(prefix)) break
      const content = more.slice(prefix.length)
      if (content.trim() === '' || /^(- |\d+\. |@|\||```|\s{2})|\S {2}/.test(content)) break
      if (content.endsWith('*/')) break
      paragraph.push(content)
    }
    if (
      !lines.slice(index, next).some((each) => isTooWide(each)) ||
      /^(\||```|\s{2}|@fairlead)|\S {2}/.test(start[2])
    ) {
      result.push(...lines.slice(index, next))
    } else {
      result.push(...refill(paragraph, prefix))
    }
    index = next - 1
  }
  return result
}

function refill(paragraph, prefix) {
  const hanging = /^(- |\d+\. |@)/.test(paragraph[0].trimStart()) && !paragraph[0].startsWith('@') ? '  ' : ''
  const words = paragraph.flatMap((line) => line.trim().split(/\s+(?![^{]*\})/))
  const lines = []
  let current = prefix + words.shift()
  for (const word of words) {
    if (current.length + 1 + word.length > columns) {
      lines.push(current)
      current = prefix + hanging + word
    } else current += ` ${word}`
  }
  return [...lines, current]
}

const given = process.argv.slice(2)
const wrap = given.includes('--wrap')
const paths = given.filter((argument) => argument !== '--wrap')
const files = (paths.length > 0 ? paths.map((path) => resolve(path)) : folders.map((folder) => join(root, folder)))
  .flatMap(filesOf)
  .filter((file) => file !== import.meta.filename)
const problems = files.flatMap((file) => {
  const name = relative(root, file).replaceAll('\\', '/')
  let lines = readFileSync(file, 'utf8').split('\n')
  if (wrap && !name.endsWith('.yaml') && lines.some((line) => isTooWide(line))) {
    lines = wrapped(lines)
    writeFileSync(file, lines.join('\n'))
  }
  return [...wordProblems(name, lines), ...openingProblems(name, lines), ...widthProblems(name, lines)]
})
for (const problem of problems) console.log(problem)
const perPackage = new Map()
for (const problem of problems) {
  const [file] = problem.split(':')
  const name = file.split('/').slice(0, -1).slice(0, 2).join('/')
  perPackage.set(name, (perPackage.get(name) ?? 0) + 1)
}
for (const [name, count] of perPackage) console.log(`${name}: ${count}`)
console.log(
  problems.length === 0
    ? `${files.length} files speak the field's words.`
    : `${problems.length} problems in ${files.length} files`,
)
process.exit(problems.length === 0 ? 0 : 1)
