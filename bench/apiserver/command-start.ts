// Start-up time of `fairlead up` with everything that it runs: the server, all controllers and capabilities, on an
// empty data folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createSecureContext } from 'node:tls'
import { parseYaml } from '@fairlead/kube'
import { Connection } from './connection.ts'
import { commandModule } from './program.ts'
import type { Form } from './program.ts'
import { startOptions } from './server-process.ts'

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string }
  }[]
  readonly users: readonly {
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string }
  }[]
}

/** Milliseconds from the start of the process to the first `ok` of /readyz. */
export async function commandStart(form: Form): Promise<number> {
  const module = await commandModule(form)
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  const begin = performance.now()
  const child = spawn(process.execPath, [...startOptions, module, 'up', '--data', folder, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await new Promise<void>((resolve, reject) => {
      // The first line says where the kubeconfig is: the port is open.
      createInterface({ input: child.stdout }).once('line', () => resolve())
      child.once('exit', (code) => reject(new Error(`fairlead up ended with ${code}`)))
    })
    using connection = await Connection.open(targetOf(readFileSync(join(folder, 'kubeconfig'), 'utf8')))
    while ((await connection.send('GET', '/readyz')).body.toString() !== 'ok');
    return performance.now() - begin
  } finally {
    const exited = child.exitCode === null ? once(child, 'exit') : undefined
    child.kill('SIGTERM')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
}

function targetOf(text: string): { port: number; context: ReturnType<typeof createSecureContext>; token: undefined } {
  const { clusters, users } = parseYaml(text) as unknown as Kubeconfig
  const { cluster } = clusters[0]!
  const { user } = users[0]!
  const pem = (data: string): Buffer => Buffer.from(data, 'base64')
  const ca = pem(cluster['certificate-authority-data'])
  return {
    port: Number(new URL(cluster.server).port),
    context: createSecureContext({
      ca,
      cert: pem(user['client-certificate-data']),
      key: pem(user['client-key-data']),
    }),
    token: undefined,
  }
}
