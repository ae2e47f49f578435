// The option `create` of set-namespace, which the function of the catalog lacks.
import { expect, test } from 'vitest'
import { functionOf } from '@fairlead/packages'
import { isMap, parseDocument } from 'yaml'
import { Resource } from '../src/engine/render/resource.ts'

const setNamespace = functionOf('set-namespace')!

function resource(text: string): Resource {
  return new Resource(parseDocument(text), { packagePath: '', path: 'web.yaml', index: '0' })
}

const configMap = (create: string): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: function-input}
data: {namespace: red, create: "${create}"}
`
const web = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n'

test.each([
  ['a ConfigMap', configMap('true'), ['ConfigMap web', 'Namespace red']],
  ['a ConfigMap that does not ask for it', configMap('false'), ['ConfigMap web']],
  [
    'a SetNamespace',
    'apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace\nnamespace: red\ncreate: true\n',
    ['ConfigMap web', 'Namespace red'],
  ],
])('set-namespace adds the Namespace once, as %s says', (_title, text, expected) => {
  const config = parseDocument(text).contents
  if (!isMap(config)) throw new Error('the config is no map')
  let items: readonly Resource[] = [resource(web)]
  for (let run = 0; run < 2; run++) items = setNamespace({ items, config }).items ?? items
  expect(items.map(({ kind, name }) => `${kind} ${name}`)).toEqual(expected)
})
