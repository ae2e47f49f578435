// Third-party data of three-way merges (third-party/kpt, third-party/porch) and the cases of porch.json.
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseYaml, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { PackageFiles, UpdateStrategy } from '@fairlead/packages'
import { updatePackage } from '@fairlead/packages'
import { describe, expect, test } from 'vitest'
import { runFile } from '../../../test/conformance/cases/run.ts'
import { dataPath, describeData, readData, readDataJson } from '../../../test/support/conformance-data.ts'

const merge3 = ['third-party', 'kpt', 'pkg', 'lib', 'update', 'merge3', 'testdata'] as const

/** Reads a folder of the data. */
function folder(...path: readonly string[]): Map<string, string> {
  const root = dataPath(...path)
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((entry) => relative(root, join(entry.parentPath, entry.name)))
  return new Map(paths.map((file) => [file, readData(...path, file)]))
}

/** Reads the package of a MergeTestResources object, with the CRD of the case beside it. */
function testPackage(name: string, file: string): PackageFiles {
  const { spec } = parseYaml(readData(...merge3, name, file)) as { spec: { resources: Record<string, string> } }
  const crd = folder(...merge3, name).get('fruitstore.crd.yaml')
  return new Map([...Object.entries(spec.resources), ...(crd === undefined ? [] : [['crd.yaml', crd] as const])])
}

function update(
  base: PackageFiles,
  upstream: PackageFiles,
  local: PackageFiles,
  strategy: UpdateStrategy = 'resource-merge',
): PackageFiles {
  return updatePackage({ base, upstream, local, strategy }).files
}

/** Returns the resources of a package by path, without the Kptfile. */
function values(files: PackageFiles): Record<string, JsonValue[]> {
  const entries = [...files].filter(([path]) => path.endsWith('.yaml')).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([path, content]) => [path, parseYamlDocuments(String(content))]))
}

const amounts: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'one-key-crd': { apple: 20, grape: 5, pear: 30, banana: 3 },
  'one-key-crd-empty-orig': { apple: 20, grape: 5, pear: 30, banana: 3 },
  'one-key-crd-empty-updated': { banana: 3 },
  'one-key-crd-empty-dest': { apple: 20, pear: 30 },
  'non-assoc-crd': { pear: 30, apple: 20, grape: 5 },
}

describeData('merge3 data of kpt', { minimum: 11, read: () => readdirSync(dataPath(...merge3)) }, (names) => {
  test.each(Object.entries(amounts))('%s merges lists by the keys that a CRD declares', (name, fruits) => {
    const files = update(
      testPackage(name, 'original.yaml'),
      testPackage(name, 'updated.yaml'),
      testPackage(name, 'destination.yaml'),
    )
    const store = Object.values(values(files))
      .flat()
      .find((object) => (object as JsonObject)['kind'] === 'FruitStore')
    const { spec } = store as { spec: { preferredTemperature: number; fruits: { name: string; amount: number }[] } }
    expect({
      temperature: spec.preferredTemperature,
      fruits: Object.fromEntries(spec.fruits.map((fruit) => [fruit.name, fruit.amount])),
    }).toEqual({ temperature: 10, fruits })
  })

  test.each(['simple-conflict', 'simple-subpackage-conflict'])(
    '%s: an image changed on both sides takes the upstream value',
    (name) => {
      const [base, upstream, local] = ['original.yaml', 'updated.yaml', 'destination.yaml'].map((file) =>
        testPackage(name, file),
      )
      const images = (files: PackageFiles): string[] =>
        [...[...files.values()].join('\n').matchAll(/^ *image: (.*)$/gm)].map(([, image]) => image!)
      expect(images(update(base!, upstream!, local!))).toEqual(images(upstream!))
    },
  )

  test('the folders of the data that infer keys are the only ones not played: kpt skips them too', () => {
    const played = new Set([...Object.keys(amounts), 'simple-conflict', 'simple-subpackage-conflict'])
    expect(names.filter((name) => !played.has(name))).toEqual([
      'infer-crd',
      'infer-crd-empty-dest',
      'infer-crd-empty-orig',
      'infer-crd-empty-updated',
    ])
  })
})

const read = (): unknown[] => [readData('third-party', 'kpt', 'README.md')]

describeData('package updates of kpt and Porch', { minimum: 1, read }, () => {
  test('explicit nulls of kpt keep-tagged-null give the expected bytes', () => {
    const part = (name: string): PackageFiles =>
      folder('third-party', 'kpt', 'pkg', 'lib', 'update', 'testdata', 'keep-tagged-null', name)
    const merged = String(update(part('origin'), part('updated'), part('dest')).get('configmap.yaml'))
    expect(merged.replace('metadata: # kpt-merge: default/m7', 'metadata:')).toBe(
      part('expected').get('configmap.yaml'),
    )
  })

  const dataset = (name: string): PackageFiles => folder('third-party', 'kpt', 'internal', 'testutil', 'testdata', name)

  describe('datasets of kpt', () => {
    test('resource-merge gives datasetmerged', () => {
      expect(values(update(dataset('dataset1'), dataset('dataset2'), dataset('dataset3')))).toEqual(
        values(dataset('datasetmerged')),
      )
    })

    test('force-delete-replace gives the upstream', () => {
      const files = update(dataset('dataset1'), dataset('dataset2'), dataset('dataset3'), 'force-delete-replace')
      expect(values(files)).toEqual(values(dataset('dataset2')))
    })

    test('fast-forward refuses local changes and takes the upstream without any', () => {
      const from = (local: string): PackageFiles =>
        update(dataset('dataset1'), dataset('dataset2'), dataset(local), 'fast-forward')
      expect(() => from('dataset3')).toThrow('local package files have been modified')
      expect(values(from('dataset1'))).toEqual(values(dataset('dataset2')))
    })

    test('files that hold no resources come with the upstream', () => {
      const files = update(dataset('dataset2'), dataset('dataset5'), dataset('dataset2'))
      expect([...files.keys()].toSorted()).toEqual([...dataset('dataset5').keys()].toSorted())
    })
  })

  test('the update of Porch gives its expected package', () => {
    const part = (name: string): PackageFiles =>
      folder('third-party', 'porch', 'pkg', 'repository', 'testdata', 'update', name)
    const merged = update(part('original'), part('upstream'), part('local'))
    expect(values(merged)).toEqual(values(part('updated')))
    expect(merged.get('README.md')).toBe(part('updated').get('README.md'))
  })
})

describeData(
  'cases of packages',
  { minimum: 80, read: () => (readDataJson('cases', 'porch.json') as unknown as { cases: unknown[] }).cases },
  () => {
    test.each(['merge-', 'kf-', 'life-'])('every case %s* agrees', async (ids) => {
      const results = await runFile(dataPath('cases', 'porch.json'), { id: ids })
      expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([])
      expect(results.length).toBeGreaterThanOrEqual(4)
    })
  },
)
