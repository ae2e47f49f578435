// kubectl on package revisions and their files, which `fairlead up` serves from git.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseYaml } from '@fairlead/kube'
import { UpProcess } from '../faults/up-process.ts'
import { findKubectl, Kubectl } from '../support/kubectl.ts'

const binary = findKubectl('1.33')
if (binary === undefined) console.log('kubectl 1.33 is not here (KUBECTL names one): kubectl on packages is not tried')

const name = 'blueprints.web.v1'
const approval = `/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions/${name}/approval`

test.skipIf(binary === undefined)(
  'kubectl gets, edits, waits for and approves package revisions, and deletes no published one',
  async () => {
    const up = await UpProcess.start(undefined, ['--only', 'packages', '--example', 'packages'])
    using kubectl = new Kubectl(binary!, readFileSync(up.kubeconfig, 'utf8'))
    const says = async (expected: string | RegExp, ...args: readonly string[]): Promise<string> => {
      const { exitCode, stdout, stderr } = await kubectl.run(args)
      expect({ args, exitCode, stdout, stderr }).toMatchObject({
        args,
        exitCode: 0,
        stdout: typeof expected === 'string' ? expected : expect.stringMatching(expected),
      })
      return stdout
    }
    const edit = async (resource: string, script: string): Promise<string> => {
      const { stdout, stderr } = await kubectl.run(['edit', resource, name], '', { EDITOR: `sed -i ${script}` })
      return `${stdout}${stderr}`
    }
    const lifecycle = (value: string): readonly string[] => [
      'wait',
      `packagerevision/${name}`,
      '--timeout=60s',
      `--for=jsonpath={.spec.lifecycle}=${value}`,
    ]
    try {
      await says(/condition met/, 'wait', '--for=condition=Ready', 'repositories', '--all', '--timeout=60s')
      const met = `packagerevision.porch.kpt.dev/${name} condition met\n`
      await says(met, ...lifecycle('Proposed'))

      const both = 'packagerevisions,packagerevisionresources'
      await says(
        /^NAME +PACKAGE +WORKSPACENAME +REVISION +LATEST +LIFECYCLE +REPOSITORY\npackagerevision.porch.kpt.dev\/blueprints.web.v1 +web +v1 +0 +false +Proposed +blueprints\n\nNAME +PACKAGE +WORKSPACENAME +REVISION +REPOSITORY +FILES\npackagerevisionresources.porch.kpt.dev\/blueprints.web.v1 +web +v1 +0 +blueprints +\d+\n$/,
        'get',
        both,
        '-o',
        'wide',
      )
      const yaml = parseYaml(await says(/^apiVersion: v1\nitems:\n/, 'get', both, '-o', 'yaml')) as {
        readonly items: readonly { readonly kind: string; readonly spec: { readonly resources?: object } }[]
      }
      expect(yaml.items.map(({ kind, spec }) => [kind, 'Kptfile' in (spec.resources ?? {})])).toEqual([
        ['PackageRevision', false],
        ['PackageRevisionResources', true],
      ])

      expect(await edit('packagerevisions', 's/lifecycle:.Proposed/lifecycle:\\ Draft/')).toBe(
        `packagerevision.porch.kpt.dev/${name} edited\n`,
      )
      expect(await edit('packagerevisionresources', `'s/replicas: "1"/replicas: "2"/'`)).toBe(
        `packagerevisionresources.porch.kpt.dev/${name} edited\n`,
      )
      const deployment = `jsonpath={.spec.resources.deployment\\.yaml}`
      await says(/replicas: 2 # kpt-set/, 'get', 'packagerevisionresources', name, '-o', deployment)
      expect(await edit('packagerevisionresources', `'s/replicas: "2"/replicas: "30"/'`)).toMatch(
        /could not be patched: error rendering package in kpt function pipeline. Package NOT pushed to remote/,
      )
      expect(await edit('packagerevisions', 's/lifecycle:.Draft/lifecycle:\\ Proposed/')).toMatch(/ edited\n$/)

      const published = says(met, ...lifecycle('Published'))
      const proposed = await says(/Proposed/, 'get', 'packagerevision', name, '-o', 'json')
      const replaced = await kubectl.run(
        ['replace', '--raw', approval, '-f', '-'],
        proposed.replace('"lifecycle": "Proposed"', '"lifecycle": "Published"'),
      )
      expect(replaced).toMatchObject({ exitCode: 0 })
      await published
      expect(await edit('packagerevisionresources', `'s/replicas: "2"/replicas: "3"/'`)).toMatch(/Published/)
      const refused = await kubectl.run(['delete', 'packagerevision', name])
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Forbidden') as string })
    } finally {
      await up.stop()
    }
  },
)
