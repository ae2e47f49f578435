// Published packages, written into a repository by one `git fast-import`, as Porch lays them out.
import { execFileSync } from 'node:child_process'

/** Files of each package, the Kptfile among them. */
const files = 10

/** Writes packages with that many published revisions each, on the branch main of a bare repository. */
export function importPackages(folder: string, count: { readonly packages: number; readonly revisions: number }): void {
  const stream: string[] = []
  const data = (content: string): void => void stream.push(`data ${Buffer.byteLength(content)}\n${content}\n`)
  let mark = 0
  for (let revision = 1; revision <= count.revisions; revision++) {
    for (let index = 0; index < count.packages; index++) {
      const name = `package-${index}`
      const workspace = `v${revision}`
      const committed = `Porch <porch@kpt.dev> ${1_700_000_000 + mark} +0000`
      stream.push(`commit refs/heads/main\nmark :${++mark}\nauthor ${committed}\ncommitter ${committed}\n`)
      const task = { type: 'init', init: { description: name } }
      const draft = { package: name, workspaceName: workspace, task }
      const approval = { package: name, workspaceName: workspace, revision: String(revision) }
      data(`Approving ${name}\n\nkpt:${JSON.stringify(draft)}\nkpt:${JSON.stringify(approval)}\n`)
      if (mark > 1) stream.push(`from :${mark - 1}\n`)
      for (let file = 0; file < files; file++) {
        stream.push(`M 100644 inline ${name}/${file === 0 ? 'Kptfile' : `file-${file}.yaml`}\n`)
        data(file === 0 ? kptfile(name) : resource(`${name}-${file}`, revision))
      }
      stream.push(`\nreset refs/tags/${name}/v${revision}\nfrom :${mark}\n\n`)
    }
  }
  execFileSync('git', ['fast-import', '--quiet'], {
    cwd: folder,
    input: stream.join(''),
    stdio: ['pipe', 'ignore', 'pipe'],
  })
}

function kptfile(name: string): string {
  return `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: ${name}\n  labels:\n    tier: web\ninfo:\n  description: ${name}\n`
}

function resource(name: string, revision: number): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  revision: "${revision}"\n  description: A resource of a package, of the usual length\n`
}
