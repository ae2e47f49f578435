// Errors of git and of packages as the API answers them.
import { badRequest, conflict, failure, forbidden, internalError, serviceUnavailable } from '@fairlead/kube'
import type { StatusError } from '@fairlead/kube'
import { PackageError } from '../engine/package-error.ts'
import { GitError } from '../git/git-error.ts'

/** The object that an error is about. */
export interface ErrorSubject {
  readonly resource: { readonly group: string; readonly plural: string }
  readonly name: string
}

/** Runs a function, and throws its errors of git and packages as StatusErrors. */
export async function asStatusError<T>(run: () => Promise<T>, subject?: ErrorSubject): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof GitError) throw gitStatus(error, subject)
    if (error instanceof PackageError) throw badRequest(error.message)
    throw error
  }
}

function gitStatus(error: GitError, subject: ErrorSubject | undefined): StatusError {
  const { code, message } = error
  switch (code) {
    case 'RefChanged':
      return subject === undefined ? failure(409, 'Conflict', message) : conflict(subject.resource, subject.name)
    case 'InvalidContent':
    case 'UnsupportedAddress':
    case 'RefNotFound':
      return badRequest(message)
    case 'TooLarge':
      return failure(413, 'RequestEntityTooLarge', message)
    case 'Refused':
      return subject === undefined
        ? failure(403, 'Forbidden', message)
        : forbidden(subject.resource, subject.name, message)
    case 'Unreachable':
    case 'Timeout':
    case 'AuthenticationFailed':
    case 'RepositoryNotFound':
    case 'Closed':
      return serviceUnavailable(message)
    case 'Corrupt':
    case 'GitMissing':
    case 'Failed':
      return internalError(message)
    default:
      throw new Error(`unknown code ${String(code satisfies never)}`)
  }
}
