// The outcome of a render in the root Kptfile: condition `Rendered` and `status.renderStatus`, as kpt keeps them.
import type { Document, YAMLMap } from 'yaml'
import { isMap, isSeq, visit } from 'yaml'
import { editKptfile } from '../kptfile/kptfile.ts'
import type { PackageFiles } from '../package-files.ts'
import { keyText, mapsAt, removeField, setNode, textAt, valueAt } from './fields.ts'
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
  for (const list of ['mutators', 'validators']) for (const step of mapsAt(root, 'pipeline', list)) normalizeStep(step)
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
  else setNode(section, 'renderStatus', document.createNode(status, { aliasDuplicateObjects: false }))
}

const stepFields = ['image', 'exec', 'configPath', 'configMap', 'name', 'tag', 'selectors', 'exclude']
const selectorFields = ['apiVersion', 'kind', 'name', 'namespace', 'labels', 'annotations']

/** Puts a function of the pipeline as kpt writes it with the status: fields in its order, quotes only where needed. */
function normalizeStep(step: YAMLMap): void {
  sortFields(step, stepFields)
  for (const list of ['selectors', 'exclude'])
    for (const selector of mapsAt(step, list)) sortFields(selector, selectorFields)
  visit(step, {
    Scalar(_, scalar) {
      if (scalar.type === 'QUOTE_DOUBLE' || scalar.type === 'QUOTE_SINGLE') delete scalar.type
    },
  })
}

function sortFields(map: YAMLMap, order: readonly string[]): void {
  map.items = map.items.toSorted((a, b) => order.indexOf(keyText(a)) - order.indexOf(keyText(b)))
}

function mapOf(document: Document, parent: YAMLMap, key: string): YAMLMap {
  const present = valueAt(parent, key)
  if (isMap(present)) return present
  const created = document.createNode({}) as YAMLMap
  setNode(parent, key, created)
  return created
}
