// Kptfile `kpt.dev/v1`: types, strict reading, edits that keep comments.
import type { Document } from 'yaml'
import { PackageError } from '../package-error.ts'
import { formatDocument } from '../yaml/format.ts'
import type { SequenceIndent } from '../yaml/sequence-indent.ts'
import { sequenceIndentOf } from '../yaml/sequence-indent.ts'
import { YamlDocument } from '../yaml/yaml-document.ts'
import { decodeKptfile } from './decode.ts'

/** A package's description. */
export interface Kptfile {
  readonly apiVersion: string
  readonly kind: 'Kptfile'
  readonly metadata: KptfileMetadata
  readonly upstream?: Upstream
  readonly upstreamLock?: Locator
  readonly info?: PackageInfo
  readonly pipeline?: Pipeline
  readonly inventory?: Inventory
  readonly status?: KptfileStatus
}

export interface KptfileMetadata {
  readonly name?: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** The upstream that the user asks for. */
export interface Upstream {
  readonly type?: string
  readonly git?: GitReference
  readonly updateStrategy?: string
}

export interface GitReference {
  readonly repo?: string
  readonly directory?: string
  /** Branch, tag or commit. */
  readonly ref?: string
}

/** The upstream content that the package was last fetched from. */
export interface Locator {
  readonly type?: string
  readonly git?: GitReference & { readonly commit?: string }
  readonly generic?: { readonly storeID?: string; readonly resourceID?: string; readonly resourceVersion?: string }
}

export interface PackageInfo {
  readonly site?: string
  readonly emails?: readonly string[]
  readonly license?: string
  readonly licenseFile?: string
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly man?: string
  readonly readinessGates?: readonly ReadinessGate[]
}

export interface ReadinessGate {
  readonly conditionType: string
}

/** The functions of a package, in their order. */
export interface Pipeline {
  readonly mutators?: readonly KptFunction[]
  readonly validators?: readonly KptFunction[]
}

/** A function of a pipeline: an image or a program, its configuration, and the resources that it gets. */
export interface KptFunction {
  readonly image?: string
  readonly exec?: string
  readonly tag?: string
  readonly configPath?: string
  readonly configMap?: Readonly<Record<string, string>>
  readonly name?: string
  readonly selectors?: readonly Selector[]
  readonly exclude?: readonly Selector[]
}

/** Matches resources by equality; every given field must match. */
export interface Selector {
  readonly apiVersion?: string
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Inventory {
  readonly namespace?: string
  readonly name?: string
  readonly inventoryID?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface KptfileStatus {
  readonly conditions?: readonly KptfileCondition[]
  readonly renderStatus?: RenderStatus
}

export interface KptfileCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** The outcome of the last render. */
export interface RenderStatus {
  readonly mutationSteps?: readonly PipelineStep[]
  readonly validationSteps?: readonly PipelineStep[]
  readonly errorSummary?: string
}

export interface PipelineStep {
  readonly name?: string
  readonly image?: string
  readonly exec?: string
  readonly executionError?: string
  readonly stderr?: string
  readonly exitCode: number
  readonly results?: readonly StepResult[]
  readonly errorResults?: readonly StepResult[]
}

/** A function's message in the render status. */
export interface StepResult {
  readonly message?: string
  readonly severity?: string
  readonly resourceRef?: Readonly<Record<string, string>>
  readonly field?: { readonly path?: string; readonly currentValue?: unknown; readonly proposedValue?: unknown }
  readonly file?: { readonly path?: string; readonly index?: number }
  readonly tags?: Readonly<Record<string, string>>
}

/**
 * Reads a Kptfile strictly: unknown fields and fields of another type are errors, as are other versions.
 * @throws PackageError `InvalidKptfile` with file and line
 */
export function parseKptfile(source: string, path: string = 'Kptfile'): Kptfile {
  return decodeKptfile(kptfileDocument(source, path), path)
}

/**
 * Returns the Kptfile after an edit of its nodes; comments and order of the rest stay. It is written as kpt writes
 * YAML, with the list indentation that it had, or wide where it had no list.
 * @throws PackageError `InvalidKptfile` when it is not YAML
 */
export function editKptfile(
  source: string,
  edit: (document: Document) => void,
  options: { readonly path?: string; readonly sequenceIndent?: SequenceIndent } = {},
): string {
  const { nodes } = kptfileDocument(source, options.path ?? 'Kptfile')
  edit(nodes)
  return formatDocument(nodes, { sequenceIndent: options.sequenceIndent ?? sequenceIndentOf(source) ?? 'wide' })
}

function kptfileDocument(source: string, path: string): YamlDocument {
  const document = new YamlDocument(path, 1, source.replaceAll('\r\n', '\n'))
  try {
    // Read now, so that its syntax errors carry the code of a Kptfile.
    void document.nodes
    return document
  } catch (error) {
    if (!(error instanceof PackageError)) throw error
    const { line, message } = error
    const detail = message.replace(/^.*?:\d+: /, '')
    throw new PackageError(
      'InvalidKptfile',
      `the Kptfile is no valid YAML: ${detail}`,
      { path, line },
      { cause: error },
    )
  }
}
