// `fairlead supply render`: what Workloads and Deliverables would stamp.
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller'
import { stringifyYaml } from '@fairlead/kube'
import { DocumentError, readObjects } from '../offline/documents.ts'
import { pluralOf } from '../offline/plural.ts'
import { render } from '../offline/rendering.ts'
import type { Rendering } from '../offline/rendering.ts'
import { validators } from '../admission/validators.ts'
import { findYtt } from '../ytt/ytt-program.ts'

/** Prints the objects; exit code 1 when something cannot be stamped. */
export async function run({ options, out, err, stdin }: CommandContext): Promise<number> {
  const files = (options['filename'] ?? []) as readonly string[]
  if (files.length === 0) {
    err('Name files or folders (-f workload.yaml -f templates/)')
    return 2
  }
  try {
    const objects = await readObjects(files, stdin)
    const refused = objects.flatMap((object) =>
      validators
        .filter(({ resources }) => resources.includes(pluralOf(object.kind)))
        .flatMap((validator) =>
          validator
            .validate(object, undefined)
            .map(({ field, detail }) => `${object.kind} ${object.metadata.name}: ${field}: ${detail}`),
        ),
    )
    for (const line of refused) err(line)
    const renderings = await render(objects, { ytt: findYtt(), now: systemClock.now() })
    if (renderings.length === 0) {
      err(`There is no Workload and no Deliverable in ${files.join(', ')}`)
      return 1
    }
    for (const rendering of renderings) out(textOf(rendering))
    const failed = renderings.some(
      ({ problem, realized }) =>
        problem !== undefined || realized.some(({ submitted }) => submitted.status === 'False'),
    )
    return failed || refused.length > 0 ? 1 : 0
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    err(error.message)
    return 1
  }
}

function textOf({ owner, blueprint, problem, realized, stamped }: Rendering): string {
  const what = `${owner.kind.toLowerCase()}/${owner.metadata.name}`
  if (blueprint === undefined) return `# ${what}: ${problem}`
  const notes = realized.map(({ resource, submitted }) => {
    const said = submitted.message === '' ? submitted.reason : submitted.message
    return `#   ${resource.name}: ${submitted.status === 'True' ? 'stamped' : said}`
  })
  return [
    `# ${what} by ${blueprint.kind} ${blueprint.metadata.name}`,
    ...notes,
    ...stamped.map((object) => `---\n${stringifyYaml(object)}`),
  ].join('\n')
}
