// `npm run bench -- [NAME[/SCENARIO] …]`: runs the benchmarks of the named folders, all of them without names.
import { existsSync, readdirSync } from 'node:fs'

const names = readdirSync(import.meta.dirname).filter((name) =>
  existsSync(new URL(`./${name}/index.ts`, import.meta.url)),
)
const wanted = new Map<string, string[]>()
for (const argument of process.argv.slice(2)) {
  const [name, scenario] = argument.split('/') as [string, string?]
  wanted.set(name, [...(wanted.get(name) ?? []), ...(scenario === undefined ? [] : [scenario])])
}
const unknown = [...wanted.keys()].filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are: ${names.join(', ')}`)
  process.exit(2)
}
for (const [name, scenarios] of wanted.size > 0 ? wanted : names.map((name): [string, string[]] => [name, []])) {
  const { run } = (await import(`./${name}/index.ts`)) as { run: (scenarios?: readonly string[]) => Promise<void> }
  await run(scenarios)
}
