// Every command that uses a cluster, with a kubeconfig whose server does not listen.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiServer, kubeconfigText } from '@fairlead/apiserver'
import { expect, test } from 'vitest'
import { program } from '../src/index.ts'
import { fairlead, withFolder } from './support/command.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { sampleOf } from '../../../test/support/sample.ts'

type Command = Awaited<ReturnType<typeof program>>

/** Arguments and options that each command requires. */
const required: Readonly<Record<string, readonly string[]>> = {
  backup: ['a.backup'],
  graph: ['deployment/web'],
  why: ['deployment/web'],
  simulate: ['rules.yaml'],
  'metacontroller rbac': ['counter'],
  'metacontroller sync': ['counter'],
  'metacontroller record': ['counter', 'cases.json', '--to', 'http://127.0.0.1:8080'],
  'supply tree': ['workload/web'],
  'rpkg init': ['web', '--repository=blueprints', '--workspace=v1'],
  'rpkg clone': ['blueprints.web.v1', 'shop', '--repository=edge'],
  'rpkg copy': ['blueprints.web.v1', '--workspace=v2'],
  'rpkg pull': ['blueprints.web.v1'],
  'rpkg push': ['blueprints.web.v1', 'pulled'],
  'rpkg propose': ['blueprints.web.v1'],
  'rpkg approve': ['blueprints.web.v1'],
  'rpkg reject': ['blueprints.web.v1'],
  'rpkg propose-delete': ['blueprints.web.v1'],
  'rpkg delete': ['blueprints.web.v1'],
  'rpkg tag': ['blueprints.web.v1', 'stable'],
  'repo register': ['https://example.com/blueprints.git'],
  'repo sync': ['blueprints'],
  'repo unregister': ['blueprints'],
  'variants plan': ['-f', 'variant.yaml'],
  'variants tree': ['fleet'],
  'actions list': ['deployment/web'],
  'actions run': ['deployment/web', 'restart'],
  'actions why': ['deployment/web'],
  'actions history': ['deployment/web'],
  'actions logs': ['restart-x1'],
}

function clusterCommands(command: Command, path: readonly string[] = []): readonly string[] {
  const usesCluster = command.options.some(({ long }) => long === '--context')
  return [
    ...(usesCluster ? [path.join(' ')] : []),
    ...command.commands.flatMap((child) => clusterCommands(child, [...path, child.name()])),
  ]
}

// `restore` asks first, and `doctor` reports every check.
const commands = clusterCommands(await program('all')).filter((name) => name !== 'restore' && name !== 'doctor')

// Each is a process of its own, which takes a second.
test.each(sampleOf(commands, 3))('fairlead %s says that the server was refused and how to start one', (name) =>
  withFolder(async (folder) => {
    const port = await freePort()
    const file = join(folder, 'kubeconfig')
    writeFileSync(
      file,
      JSON.stringify({
        clusters: [{ name: 'a', cluster: { server: `https://127.0.0.1:${port}` } }],
        users: [{ name: 'a', user: { token: 'x' } }],
        contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
        'current-context': 'a',
      }),
    )
    // A package as `rpkg pull` writes it.
    mkdirSync(join(folder, 'pulled'))
    writeFileSync(join(folder, 'pulled/.KptRevisionMetadata'), 'metadata: {resourceVersion: "1"}\n')
    writeFileSync(
      join(folder, 'variant.yaml'),
      '{apiVersion: config.porch.kpt.dev/v1alpha1, kind: PackageVariant, metadata: {name: web}}\n',
    )
    writeFileSync(join(folder, 'rules.yaml'), '[{apiVersion: v1, kind: Pod, status: {phase: Running}}]\n')
    const args = [...name.split(' '), ...(required[name] ?? []), '--kubeconfig', file]
    expect(await fairlead(args, { cwd: folder })).toEqual({
      code: 1,
      stdout: '',
      stderr: `fairlead: The connection to the server 127.0.0.1:${port} was refused - did you specify the right host or port? If it is a server of this machine, start it with \`fairlead up\`.\n`,
    })
  }),
)

test.each([
  ['run', '--only', 'actions'],
  ['supply', 'tree', 'workload/web'],
])('fairlead %s says that the login has expired', async (...args) =>
  withFolder(async (folder) => {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const { url, certificateAuthority: ca } = await server.listen()
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, kubeconfigText({ name: 'a', server: url, ca, user: { name: 'a', token: 'expired' } }))
    expect(await fairlead([...args, '--kubeconfig', file], { cwd: folder })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'fairlead: You must be logged in to the server (Unauthorized): renew the credentials of the kubeconfig, they are wrong or have expired.\n',
    })
  }),
)

test('without a kubeconfig a command says so, and names that of the folder', () =>
  withFolder(async (folder) => {
    const run = async (): Promise<object> => fairlead(['actions', 'list', 'deployment/web'], { cwd: folder })
    const failed = (advice: string): object => ({
      code: 1,
      stdout: '',
      stderr: `fairlead: there is no kubeconfig: ${advice}\n`,
    })
    expect(await run()).toEqual(
      failed('name one with KUBECONFIG or --kubeconfig, or start a server with `fairlead up`'),
    )
    mkdirSync(join(folder, '.fairlead'))
    writeFileSync(join(folder, '.fairlead/kubeconfig'), '')
    expect(await run()).toEqual(
      failed(
        'the server of this folder has one: export KUBECONFIG=$PWD/.fairlead/kubeconfig, or --kubeconfig .fairlead/kubeconfig',
      ),
    )
  }))
