// Errors of git access. `code` is stable; messages say what to do.

/**
 * - `GitMissing`: the program git is not installed.
 * - `Unreachable`: the remote does not answer, or its host is unknown.
 * - `AuthenticationFailed`: the remote needs credentials, or refused them.
 * - `RepositoryNotFound`: there is no repository at the address.
 * - `RefNotFound`: the repository has no such branch, tag or commit.
 * - `RefChanged`: a ref does not have the expected value any more.
 * - `Refused`: the remote declined a push, for example by a hook or a protected branch.
 * - `Timeout`: git did not finish in time.
 * - `Corrupt`: the repository has missing or damaged objects.
 * - `UnsupportedAddress`: a transport that is not allowed, credentials in the address, or one that redirects.
 * - `InvalidContent`: a symbolic link, a submodule or a path that leaves the folder.
 * - `TooLarge`: a file or a package exceeds the limits.
 * - `Closed`: the repository was closed meanwhile, as the server stops or its Repository has changed.
 * - `Failed`: any other failure.
 */
export type GitErrorCode =
  | 'GitMissing'
  | 'Unreachable'
  | 'AuthenticationFailed'
  | 'RepositoryNotFound'
  | 'RefNotFound'
  | 'RefChanged'
  | 'Refused'
  | 'Timeout'
  | 'Corrupt'
  | 'UnsupportedAddress'
  | 'InvalidContent'
  | 'TooLarge'
  | 'Closed'
  | 'Failed'

/** An error of git, or of the content of a repository. */
export class GitError extends Error {
  readonly code: GitErrorCode

  constructor(code: GitErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'GitError'
    this.code = code
  }
}

/** Lines that say what went wrong. */
const reasons = /^(fatal|error|remote|missing|broken|\s*!)/

/** Lines beside the reason that ssh gives. */
const besides = /^(Warning: Permanently added|Please make sure you have|and the repository exists|\s*$)/

const redirected = /returned error: 30[1-8]/

/** Messages of git on standard error by code, in the order of precedence. The C locale is set for every call. */
const patterns: readonly (readonly [GitErrorCode, RegExp])[] = [
  [
    'RefChanged',
    /stale info|non-fast-forward|fetch first|but expected|reference already exists|cannot lock ref|unable to resolve reference|Unable to create .*\.lock|failed to update ref|failed to lock/i,
  ],
  ['Refused', /hook declined|remote rejected|protected branch|deny updating|prohibited|read-only/i],
  [
    'AuthenticationFailed',
    /Authentication failed|could not read Username|could not read Password|Permission denied|terminal prompts disabled|returned error: 40[13]|Invalid username|Host key verification failed/i,
  ],
  [
    'RepositoryNotFound',
    /does not appear to be a git repository|repository .* not found|not found: did you run|returned error: 404|Repository not found|does not exist/i,
  ],
  ['RefNotFound', /couldn't find remote ref|not our ref|unknown revision|bad revision|Needed a single revision/i],
  ['UnsupportedAddress', redirected],
  ['UnsupportedAddress', /transport '.*' not allowed|Unable to find remote helper/i],
  [
    'Unreachable',
    /Could not resolve host|Connection refused|Connection timed out|Failed to connect|Could not connect|Connection reset|early EOF|expected flush after|RPC failed|unable to access|Network is unreachable|Could not read from remote|hung up unexpectedly|returned error: 5\d\d/i,
  ],
  [
    'Corrupt',
    /corrupt|missing (blob|tree|commit)|unable to read|bad object|broken|inflate|did not match|fsck error|invalid object/i,
  ],
]

/**
 * Returns the error of a git process that failed with `stderr`; credentials in addresses are removed. `end` is how the
 * process ended, for one that said nothing.
 */
export function gitFailure(command: string, stderr: string, end: string = 'failed'): GitError {
  const lines = withoutCredentials(stderr).split('\n')
  // Programs like ssh say why in words of their own.
  const isTransport = stderr.includes('Could not read from remote repository')
  const relevant = lines.filter((line) =>
    isTransport ? !besides.test(line) : reasons.test(line) && !line.startsWith('error: failed to push'),
  )
  const message = (relevant.length > 0 ? relevant : lines)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, 4)
    .join('; ')
  const code = patterns.find(([, pattern]) => pattern.test(stderr))?.[0] ?? 'Failed'
  const advice = redirected.test(stderr)
    ? '; redirects are not followed: write the address that it redirects to, on many hosts the same with .git at its end'
    : ''
  return new GitError(code, `git ${command}: ${message === '' ? `${end} without a message` : message}${advice}`)
}

/** Returns a string without the user and password of the addresses in it. */
export function withoutCredentials(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/@\s'"]*@/gi, '$1')
}
