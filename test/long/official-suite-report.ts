// Which specs of the official end-to-end suite are skipped, and what its JUnit report says of the others.
import { readFileSync } from 'node:fs'

/**
 * A spec of a report. Anything but `passed` and `skipped` is a failure: `failed`, `timedout`, `panicked`,
 * `interrupted`, `aborted`.
 */
export interface ReportedSpec {
  readonly name: string
  readonly status: string
}

/** The specs of a JUnit report of Ginkgo, without those of set-up and reporting. */
export function specsOf(junit: string): ReportedSpec[] {
  return [...junit.matchAll(/<testcase name="([^"]*)"[^>]*? status="([a-z]+)"/g)].flatMap(
    ([, name = '', status = '']) =>
      name.startsWith('[It] ') && status !== 'pending'
        ? [{ name: unescapeXml(name.slice('[It] '.length)), status }]
        : [],
  )
}

const entities: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' }

function unescapeXml(value: string): string {
  return value.replaceAll(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (whole, decimal, hex, entity) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex as string, 16))
    return entities[entity as string] ?? whole
  })
}

/** Specs that are not run, each with its reason. */
export interface SkippedSpecs {
  /** A regular expression (RE2) that matches exactly these specs, for `--ginkgo.skip` and `--ginkgo.focus`. */
  readonly pattern: string
  /** Returns the entries that match none of the specs of a suite. */
  unknownTo(specs: readonly string[]): string[]
}

/**
 * Reads a list of skipped specs. `specs` maps full names to reasons; `containers` maps the beginnings of names, for
 * optional features whose specs all need the same.
 */
export function readSkippedSpecs(path: URL): SkippedSpecs {
  const { specs, containers } = JSON.parse(readFileSync(path, 'utf8')) as {
    specs: Record<string, string>
    containers: Record<string, string>
  }
  const pattern = [
    ...Object.keys(specs).map(wholeName),
    ...Object.keys(containers).map((name) => `${escapeRe2(name)}( |$)`),
  ].join('|')
  return {
    pattern,
    unknownTo: (names) => [
      ...Object.keys(specs).filter((name) => !names.includes(name)),
      ...Object.keys(containers).filter(
        (start) => !names.some((name) => name === start || name.startsWith(`${start} `)),
      ),
    ],
  }
}

/** The specs of groups other than API machinery that run: most of the others need running pods. */
export interface OtherSpecs {
  readonly names: ReadonlySet<string>
  /** A regular expression (RE2) that matches exactly these specs. */
  readonly pattern: string
}

/** Reads a list of names. */
export function readOtherSpecs(path: URL): OtherSpecs {
  const { specs } = JSON.parse(readFileSync(path, 'utf8')) as { specs: readonly string[] }
  return { names: new Set(specs), pattern: specs.map(wholeName).join('|') }
}

/** The specs of the groups below that do not run, each with its reason. */
export interface RestSpecs {
  readonly names: ReadonlySet<string>
  /** Returns the specs of a suite in these groups that are neither here nor among those that run. */
  unlisted(specs: readonly string[], others: OtherSpecs): string[]
}

/** Groups of which each spec is listed: it runs, or has a reason why it does not. */
const listedGroups = ['[sig-apps]', '[sig-auth]', '[sig-cli]']

/** Reads the specs that do not run. `specs` maps full names to reasons. */
export function readRestSpecs(path: URL): RestSpecs {
  const { specs } = JSON.parse(readFileSync(path, 'utf8')) as { specs: Record<string, string> }
  const names = new Set(Object.keys(specs))
  return {
    names,
    unlisted: (suite, others) =>
      suite.filter(
        (name) =>
          listedGroups.some((group) => name.startsWith(`${group} `)) && !names.has(name) && !others.names.has(name),
      ),
  }
}

/** Ginkgo matches against the description of the suite, a space and the name. */
function wholeName(name: string): string {
  return `${escapeRe2(name)}$`
}

function escapeRe2(name: string): string {
  return name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
