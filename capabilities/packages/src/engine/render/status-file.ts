// The outcome of a render in the root Kptfile: condition `Rendered` and `status.renderStatus`, as kpt keeps them.
import type { Document, YAMLMap } from 'yaml'
import { isMap, isSeq } from 'yaml'
import { editKptfile } from '../kptfile/kptfile.ts'
import type { PackageFiles } from '../package-files.ts'
import { removeField, setNode, textAt, valueAt } from './fields.ts'
import type { RenderOutcome } from './render-package.ts'

const conditionType = 'Rendered'

/** Returns the files of a render with its outcome in the root Kptfile; comments there stay. */
export function withRenderStatus(outcome: RenderOutcome): PackageFiles {
  const kptfile = outcome.files.get('Kptfile')
  // A root Kptfile that could not be read stays as it is.
  if (outcome.packages === 0 || typeof kptfile !== 'string') return outcome.files
  const edited = editKptfile(kptfile, (document) => writeStatus(document, outcome), { sequenceIndent: 'wide' })
  return new Map(outcome.files).set('Kptfile', edited)
}

function writeStatus(document: Document, { failure, status }: Pick<RenderOutcome, 'failure' | 'status'>): void {
  const root = document.contents
  if (!isMap(root)) return
  const section = mapOf(document, root, 'status')
  const condition = {
    type: conditionType,
    status: failure === undefined ? 'True' : 'False',
    reason: failure === undefined ? 'RenderSuccess' : 'RenderFailed',
    ...(failure !== undefined && { message: failure }),
  }
  const conditions = valueAt(section, 'conditions')
  const others = isSeq(conditions)
    ? conditions.items.filter((item) => !isMap(item) || textAt(item, 'type') !== conditionType)
    : []
  if (isSeq(conditions)) conditions.items = [...others, document.createNode(condition)]
  else setNode(section, 'conditions', document.createNode([condition]))
  if (status === undefined) removeField(section, 'renderStatus')
  else setNode(section, 'renderStatus', document.createNode(status))
}

function mapOf(document: Document, parent: YAMLMap, key: string): YAMLMap {
  const present = valueAt(parent, key)
  if (isMap(present)) return present
  const created = document.createNode({}) as YAMLMap
  setNode(parent, key, created)
  return created
}
