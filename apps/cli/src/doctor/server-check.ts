// Checks of this machine and of the API server: versions, access, clocks.
import { spawnSync } from 'node:child_process'
import type { Client } from '@fairlead/client'
import { version } from '../version.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

/** The oldest minor version of Kubernetes 1 whose webhooks have match conditions. */
const oldestMinor = 30

/** Clocks that differ by more make ages and schedules misleading; milliseconds. */
const noticeableSkew = 5_000
/** Clocks that differ by more make tokens and certificates invalid; milliseconds. */
const harmfulSkew = 60_000

/** Returns the versions of the command, and of what it starts. */
export function checkMachine(): Finding[] {
  const git = spawnSync('git', ['--version'], { encoding: 'utf8' })
  return [
    ok('command', `fairlead ${version()}, Node ${process.versions.node}`),
    git.status === 0
      ? ok('git', git.stdout.trim())
      : warn('git', 'there is no git on the PATH: install it when `fairlead up` or `run` here is to manage packages'),
  ]
}

/** The findings about the API server. */
export interface ServerAnswer {
  readonly findings: readonly Finding[]
  /** False when no other request can be sent. */
  readonly reachable: boolean
}

/** Asks for the version; `now` returns the time of this machine in milliseconds. */
export async function checkServer(client: Client, now: () => number): Promise<ServerAnswer> {
  const address = client.transport.address ?? 'the server'
  const before = now()
  const { status, headers, body } = await client.sendRaw({ method: 'GET', path: '/version' })
  const after = now()
  if (status !== 200) {
    const why = (body as { readonly message?: string } | null)?.message ?? `status ${status}`
    const advice = status === 401 ? 'renew the credentials of the kubeconfig' : 'ask an administrator'
    return { reachable: false, findings: [fail('cluster', `${address} refuses: ${why}; ${advice}`)] }
  }
  const { gitVersion = '', major, minor } = body as { gitVersion?: string; major?: string; minor?: string }
  const isOld = Number(major) === 1 && Number.parseInt(minor ?? '', 10) < oldestMinor
  const cluster = isOld
    ? fail('cluster', `${address} is Kubernetes ${gitVersion}: upgrade it to 1.${oldestMinor} or newer`)
    : ok('cluster', `${address} is Kubernetes ${gitVersion}`)
  return { reachable: true, findings: [cluster, checkClock(headers['date'], before, after)] }
}

/** Compares the Date of a response, whole seconds, with the times of its request and of its arrival. */
export function checkClock(date: string | undefined, before: number, after: number): Finding {
  const server = date === undefined ? Number.NaN : Date.parse(date)
  if (Number.isNaN(server)) return warn('clock', 'the server gave no Date: its clock cannot be compared')
  const ahead = Math.max(0, server - after)
  const behind = Math.max(0, before - (server + 999))
  const skew = Math.max(ahead, behind)
  const seconds = `${(skew / 1000).toFixed(0)} s ${ahead > behind ? 'ahead of' : 'behind'} this machine`
  if (skew > harmfulSkew)
    return fail('clock', `the server is ${seconds}: tokens and certificates fail. Set the clocks by NTP`)
  if (skew > noticeableSkew) return warn('clock', `the server is ${seconds}: ages mislead. Set the clocks by NTP`)
  return ok('clock', 'the server and this machine have the same time')
}
