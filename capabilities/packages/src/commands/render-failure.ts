// Errors of a render in kpt's words, for scripts that look for them.
import type { PackageErrorCode } from '../engine/package-error.ts'

/** Returns the message of an error. @param rootName name of the root package's folder */
export function formatFailure(
  { code, message }: { readonly code: PackageErrorCode; readonly message: string },
  rootName: string,
): string {
  if (code !== 'InvalidKptfile' || message.startsWith('Kptfile is invalid'))
    return message.replace(/: open (\S+): no such file/, `: open ${rootName}/$1: no such file`)
  const [, path = '', detail = ''] = /^(\S*?Kptfile)(?::\d+)?: (.*)$/s.exec(message) ?? []
  if (path === '') return message
  const folder = JSON.stringify(`${rootName}/${path}`.replace(/\/Kptfile$/, ''))
  const [, version] = /old resource version "([^"]+)"/.exec(detail) ?? []
  if (version !== undefined)
    return `Kptfile at ${folder} has an old version (${JSON.stringify(version)}) of the Kptfile schema`
  return `Kptfile at ${folder} can't be read.\n\nDetails:\n${detail}`
}
