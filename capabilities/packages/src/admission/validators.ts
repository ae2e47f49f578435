// Validation of Repositories, and the rights that their writers need: a Repository reads a Secret, and possibly files
// of the server, on behalf of its writer.
import type { RequiredAccess, Validator } from '@fairlead/controller'
import { fieldErrors } from '@fairlead/kube'
import type { FieldError, KubeObject } from '@fairlead/kube'
import { configGroup } from '../api.ts'
import type { Repository } from '../api.ts'
import { GitError } from '../git/git-error.ts'
import { transportOf } from '../git/remote.ts'
import { parseCron } from '../runtime/cron.ts'

/** Validators of Repositories. */
export const validators: readonly Validator[] = [
  {
    group: configGroup,
    resources: ['repositories'],
    validate: (object, old) => errorsOf(object, old),
    authorize: (object, old) => accessOf(object, old),
  },
]

function errorsOf(object: KubeObject, old: KubeObject | undefined): readonly FieldError[] {
  const { spec } = object as Repository
  const before = (old as Repository | undefined)?.spec
  const errors: FieldError[] = []
  const { repo } = spec?.git ?? {}
  if (repo !== undefined && repo !== before?.git?.repo) {
    try {
      transportOf(repo)
      if (/^[a-z+]+:\/\/[^/]*:[^/]*@/i.test(repo))
        errors.push(
          fieldErrors.invalid('spec.git.repo', '', 'the address has a password; name a Secret in spec.git.secretRef'),
        )
    } catch (error) {
      if (!(error instanceof GitError)) throw error
      errors.push(fieldErrors.invalid('spec.git.repo', repo, error.message))
    }
  }
  const directory = spec?.git?.directory
  if (directory?.split('/').some((part) => part === '..' || part.toLowerCase() === '.git') === true)
    errors.push(fieldErrors.invalid('spec.git.directory', directory, 'write a folder inside the repository'))
  const branch = spec?.git?.branch
  if (branch !== undefined && !isBranchName(branch))
    errors.push(fieldErrors.invalid('spec.git.branch', branch, 'this is no name of a git branch'))
  const schedule = spec?.sync?.schedule
  if (schedule !== undefined && schedule !== before?.sync?.schedule && parseCron(schedule) === undefined)
    errors.push(fieldErrors.invalid('spec.sync.schedule', schedule, 'write a cron schedule with five fields'))
  return errors
}

/** Reports whether git accepts the name of a branch, and Porch does not use it otherwise. */
function isBranchName(name: string): boolean {
  if (/^(drafts|proposed|deletionProposed)\//.test(name)) return false
  return /^(?!-)(?!.*(\.\.|@\{|\/\/|\/\.|\.lock(\/|$)))[^\s~^:?*[\\\p{Cc}]+$/u.test(name) && !/^[./]|[./]$/.test(name)
}

function accessOf(object: KubeObject, old: KubeObject | undefined): readonly RequiredAccess[] {
  const { metadata, spec } = object as Repository
  const before = (old as Repository | undefined)?.spec?.git
  const { repo, secretRef } = spec?.git ?? {}
  const required: RequiredAccess[] = []
  if (repo !== undefined && repo !== before?.repo && isLocal(repo))
    required.push({
      verb: 'use',
      group: configGroup,
      resource: 'localrepositories',
      reason: `spec.git.repo is a path on the server: ${repo}`,
    })
  const secret = secretRef?.name
  const isNewTarget = secret !== before?.secretRef?.name || repo !== before?.repo
  if (secret !== undefined && secret !== '' && isNewTarget)
    required.push({
      verb: 'get',
      group: '',
      resource: 'secrets',
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      name: secret,
      reason: `spec.git.secretRef names the Secret ${JSON.stringify(secret)}`,
    })
  return required
}

function isLocal(repo: string): boolean {
  try {
    return transportOf(repo) === 'local'
  } catch {
    return false
  }
}
