// Runs one kuttl case against a cluster, step by step, in a namespace of its own; deletes everything that it applied at
// the end.
import { spawn } from 'node:child_process'
import type { Client } from '@fairlead/client'
import { asJson, isAlreadyExists, isConflict, isNotFound } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Deletion, KuttlCase, Step, StepCommand } from './kuttl-case.ts'
import { missing } from './subset.ts'

/** The cluster that a case runs on. */
export interface Stage {
  readonly client: Client
  /** Path of the kubeconfig for commands; undefined when there is none. */
  readonly kubeconfig: string | undefined
  /** Seconds per step. */
  readonly timeout: number
}

/** Milliseconds between two checks of a step (kuttl: 1000). A step passes at the first successful check. */
const pause = 50

/** Returns the failures of a case; empty when it passes. */
export async function play(test: KuttlCase, stage: Stage, namespace: string): Promise<string[]> {
  const applied: KubeObject[] = []
  await stage.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  try {
    for (const step of test.steps) {
      const failures = await playStep(step, stage, namespace, test.folder, applied)
      if (failures.length > 0) return failures.map((failure) => `step ${step.number}: ${failure}`)
    }
    return []
  } finally {
    for (const object of applied.toReversed()) await remove(stage.client, object)
    await remove(stage.client, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  }
}

async function playStep(
  step: Step,
  stage: Stage,
  namespace: string,
  folder: string,
  applied: KubeObject[],
): Promise<string[]> {
  const { client, timeout } = stage
  try {
    for (const deletion of step.deletions) await carryOut(client, deletion, namespace)
    for (const command of step.commands) await runCommand(command, stage, namespace, folder)
    for (const object of step.apply) applied.push(await applyObject(stage, await placed(client, object, namespace)))
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
  const end = client.clock.monotonic() + (step.timeout ?? timeout) * 1000
  for (;;) {
    const failures = await check(step, stage, namespace, folder)
    if (failures.length === 0 || client.clock.monotonic() >= end) return failures
    await client.clock.sleep(pause)
  }
}

async function check(step: Step, stage: Stage, namespace: string, folder: string): Promise<string[]> {
  const { client } = stage
  const failures: string[] = []
  for (const expected of step.asserts)
    failures.push(...(await assertion(client, await placed(client, expected, namespace))))
  for (const unexpected of step.errors) {
    const object = await placed(client, unexpected, namespace)
    if ((await assertion(client, object)).length === 0) failures.push(`${nameOf(object)} exists but must not`)
  }
  for (const command of step.assertCommands) {
    try {
      await runCommand(command, stage, namespace, folder)
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error))
    }
  }
  return failures
}

/** Returns why no object matches; empty when the named object, or any object of the kind, does. */
async function assertion(client: Client, expected: KubeObject): Promise<string[]> {
  const { name, namespace = '' } = expected.metadata
  if (name !== undefined) {
    const found = await client.find(expected, { namespace, name })
    if (found === undefined) return [`${nameOf(expected)} does not exist`]
    return missing(asJson(expected), asJson(found)).map((failure) => `${nameOf(expected)}${failure}`)
  }
  const { items } = await client.list(expected, { namespace })
  if (items.length === 0) return [`there is no ${expected.kind}`]
  const attempts = items.map((item) =>
    missing(asJson(expected), asJson({ ...item, apiVersion: expected.apiVersion, kind: expected.kind })),
  )
  if (attempts.some((attempt) => attempt.length === 0)) return []
  return attempts.flatMap((attempt, index) =>
    attempt.map((failure) => `${expected.kind} ${items[index]!.metadata.name}${failure}`),
  )
}

/**
 * Creates the object, or patches it with a JSON merge patch at the resourceVersion that was read; retries conflicts
 * until the timeout.
 */
async function applyObject({ client, timeout }: Stage, object: KubeObject): Promise<KubeObject> {
  const { name = '', namespace = '' } = object.metadata
  for (const end = client.clock.monotonic() + timeout * 1000; ; await client.clock.sleep(pause)) {
    try {
      const live = await client.find(object, { namespace, name })
      if (live === undefined) return await client.create(object)
      const { resourceVersion } = live.metadata
      const merge = asJson({ ...object, metadata: { ...object.metadata, resourceVersion } })
      return await client.patch(object, { namespace, name }, { merge })
    } catch (error) {
      if (client.clock.monotonic() >= end || !(isConflict(error) || isAlreadyExists(error))) throw error
    }
  }
}

async function placed(client: Client, object: KubeObject, namespace: string): Promise<KubeObject> {
  const { namespaced } = await client.discovery.resource(object)
  if (!namespaced || object.metadata?.namespace !== undefined) return { ...object, metadata: object.metadata ?? {} }
  return { ...object, metadata: { ...object.metadata, namespace } }
}

async function carryOut(
  client: Client,
  { apiVersion, kind, name, labels, ...deletion }: Deletion,
  own: string,
): Promise<void> {
  const namespace = deletion.namespace ?? own
  if (name === undefined) {
    await client.deleteCollection({ apiVersion, kind }, { namespace, labelSelector: { matchLabels: labels ?? {} } })
    return
  }
  await remove(client, { apiVersion, kind, metadata: { name, namespace } })
  await client.waitForDeletion({ apiVersion, kind }, { namespace, name })
}

async function remove(client: Client, object: KubeObject): Promise<void> {
  try {
    const { namespace = '', name = '' } = object.metadata
    await client.delete(object, { namespace, name })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

function runCommand(
  command: StepCommand,
  { kubeconfig, timeout }: Stage,
  namespace: string,
  folder: string,
): Promise<void> {
  const text = command.script ?? command.command ?? ''
  const program =
    command.namespaced === true && command.command !== undefined ? `${text} --namespace ${namespace}` : text
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', program], {
      cwd: folder,
      env: { ...process.env, NAMESPACE: namespace, ...(kubeconfig !== undefined && { KUBECONFIG: kubeconfig }) },
      timeout: (command.timeout ?? timeout) * 1000,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const err: Buffer[] = []
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0 || command.ignoreFailure === true) resolve()
      else reject(new Error(`"${text}" ended with ${code}: ${Buffer.concat(err).toString().trim()}`))
    })
  })
}

function nameOf({ kind, metadata }: KubeObject): string {
  return metadata.name === undefined ? kind : `${kind} ${(metadata as JsonObject)['name'] as string}`
}
