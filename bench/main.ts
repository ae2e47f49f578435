// `npm run bench -- [NAME …]`: runs the benchmarks of the named folders, all of them without names.
import { existsSync, readdirSync } from 'node:fs'

const names = readdirSync(import.meta.dirname).filter((name) => existsSync(new URL(`./${name}/index.ts`, import.meta.url)))
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are: ${names.join(', ')}`)
  process.exit(2)
}
for (const name of wanted.length > 0 ? wanted : names) {
  const { run } = (await import(`./${name}/index.ts`)) as { run: () => Promise<void> }
  await run()
}
