// `fairlead supply render`: prints the objects that Workloads and Deliverables stamp.
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { formatFieldError, stringifyYaml } from '@fairlead/kube'
import { CommandError, exitCode, readManifests, usageError } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'
import { validators } from '../admission/validators.ts'
import { OwnKinds } from '../offline/own-kinds.ts'
import { render } from '../offline/rendering.ts'
import type { Rendering } from '../offline/rendering.ts'
import { Ytt } from '../ytt/ytt.ts'

/** Prints the stamped objects of every owner. Exit code 1 when a manifest is invalid or a resource fails. */
export async function run({
  options: { filename },
  out,
  err,
  stdin,
}: CommandContext<{ readonly filename: readonly string[] }, object>): Promise<number> {
  if (filename.length === 0) throw usageError('Name files or folders (-f workload.yaml -f templates/)')
  const kinds = new OwnKinds()
  const manifests = kinds.valid(await readManifests(filename, { stdin }))
  const problems = manifests.flatMap((manifest) => admissionErrors(manifest, kinds))
  for (const problem of problems) err(problem)
  const objects = manifests.map(({ object }) => object)
  const renderings = await render(objects, { ytt: new Ytt(), now: systemClock.now() })
  if (renderings.length === 0)
    throw new CommandError(`There is no Workload and no Deliverable in ${filename.join(', ')}`)
  for (const rendering of renderings) out(format(rendering))
  if (renderings.some(({ owner, stamped }) => stamped.length > 0 && owner.metadata.uid === undefined))
    err(
      'note: owner references have no uid, because the owners in the files have none: no server accepts these objects',
    )
  const isFailed = renderings.some(
    ({ problem, realized }) => problem !== undefined || realized.some(({ submitted }) => submitted.status === 'False'),
  )
  return isFailed || problems.length > 0 ? exitCode.error : exitCode.ok
}

/** Returns the errors that the validators of this capability report, one a line, each with file and line. */
function admissionErrors({ file, line, object }: Manifest, kinds: OwnKinds): string[] {
  const resource = kinds.resourceOf(object)
  if (resource === undefined) return []
  return validators
    .filter(({ resources }) => resources.includes(resource))
    .flatMap((validator) => validator.validate(object, undefined))
    .map((error) => `${file}:${line}: ${object.kind} ${object.metadata.name}: ${formatFieldError(error)}`)
}

function format({ owner, blueprint, problem, realized, stamped }: Rendering): string {
  const name = `${owner.kind.toLowerCase()}/${owner.metadata.name}`
  if (blueprint === undefined) return `# ${name}: ${problem}`
  const notes = realized.map(({ resource, submitted }) => {
    const message = submitted.message === '' ? submitted.reason : submitted.message
    return `#   ${resource.name}: ${submitted.status === 'True' ? 'stamped' : message}`
  })
  return [
    `# ${name} by ${blueprint.kind} ${blueprint.metadata.name}`,
    ...notes,
    ...stamped.map((object) => `---\n${stringifyYaml(object)}`),
  ].join('\n')
}
