// The order in which functions run and in which they are given resources, as kpt has it.
import { renderPackage } from '@fairlead/packages'
import { expect, test } from 'vitest'

test('a package gives its functions the output of the packages below it, then its own resources', async () => {
  const kptfile = (name: string): string =>
    `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: ${name}\npipeline:\n  mutators:\n  - image: ${name}\n`
  const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`
  const files = new Map(
    ['', 'b/', 'a/', 'a/inner/'].flatMap((folder) => {
      const name = folder === '' ? 'root' : folder.replaceAll('/', '')
      return [
        [`${folder}Kptfile`, kptfile(name)],
        [`${folder}${name}.yaml`, configMap(`cm-${name}`)],
      ]
    }) as [string, string][],
  )
  const calls: string[] = []
  const runner = {
    run: (reference: { readonly image?: string }, list: string) => {
      const names = [...list.matchAll(/^ {2,4}name: (cm-.*)$/gm)].map(([, name]) => name)
      calls.push(`${reference.image?.replace(/^.*\/|:.*$/g, '')}: ${names.join(' ')}`)
      return Promise.resolve({ resourceList: list, stderr: '', exitCode: 0 })
    },
  }
  await renderPackage(files, runner, { signal: new AbortController().signal })
  expect(calls).toEqual(['ainner: cm-ainner', 'a: cm-ainner cm-a', 'b: cm-b', 'root: cm-ainner cm-a cm-b cm-root'])
})
