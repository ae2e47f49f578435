// Bundles a program with everything that it imports into a few files: a process that loads five files starts in half
// the time of one that looks up five hundred. The command is published like this (build-assets.ts), and benchmarks
// measure what is published.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const root = resolve(import.meta.dirname, '..')

/** Entry points of worker threads; sources find them through their package's `imports` map. */
const workers: Readonly<Record<string, string>> = {
  'journal-worker': join(root, 'foundation/apiserver/src/storage/journal-worker.ts'),
  'render-worker': join(root, 'capabilities/packages/src/runtime/functions/render-worker.ts'),
  'snippet-worker': join(root, 'capabilities/actions/src/sandbox/snippet-worker.ts'),
}

/** Finds its WebAssembly beside its own files. */
const external = ['quickjs-emscripten']

/** Further programs of the command's package. */
export const programs: Readonly<Record<string, string>> = {
  apiserver: join(root, 'apps/cli/src/apiserver/main.ts'),
}

/**
 * Writes `main` as `folder`/main.js, and others under their names, with what they need beside them; `folder` is emptied
 * first.
 */
export async function bundle(
  main: string,
  folder: string,
  others: Readonly<Record<string, string>> = {},
): Promise<void> {
  const packages = new Set<string>()
  const build = await rolldown({
    input: { main, ...others, ...workers },
    platform: 'node',
    external,
    resolve: { conditionNames: ['@fairlead/source', 'node', 'import', 'default'] },
    plugins: [
      {
        name: 'fairlead',
        transform(code, id) {
          const found = packageFolder(id)
          if (found !== undefined) packages.add(found)
          return { code: postponed(code, id) }
        },
      },
    ],
  })
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await build.write({ dir: folder, format: 'esm', chunkFileNames: '[name]-[hash].js' })
  await build.close()
  writeFileSync(join(folder, 'LICENSES.txt'), [...packages].toSorted().map(licenseOf).join('\n'))
}

/**
 * Modules that prom-client loads and nothing here uses: metrics of the process, with OpenTelemetry behind them,
 * and of clusters.
 */
function postponed(code: string, id: string): string {
  if (!id.replaceAll('\\', '/').endsWith('/prom-client/index.js')) return code
  return code.replaceAll(
    /^exports\.(Pushgateway|collectDefaultMetrics|AggregatorRegistry) = (require\(.*\));$/gm,
    "Object.defineProperty(exports, '$1', { enumerable: true, get: () => $2 });",
  )
}

/** The folder of the third-party package that a module belongs to. */
function packageFolder(id: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/'))?.[0]
}

/** Name, version and licence of a package whose code is in the bundle. */
function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license: string
  }
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
  return `${name} ${version} (${license})\n${text}`
}
