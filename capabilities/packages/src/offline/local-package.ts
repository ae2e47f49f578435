// A package in a folder with its upstream, as update and diff need it.
import { resolve } from 'node:path'
import { CommandError } from '@fairlead/offline'
import type { GitReference, Kptfile } from '../engine/kptfile/kptfile.ts'
import { parseKptfile } from '../engine/kptfile/kptfile.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { readPackageFolder } from './package-folder.ts'
import { splitVersion } from './upstream-address.ts'

/** A package with the upstream that its Kptfile names. */
export interface LocalPackage {
  readonly folder: string
  readonly files: PackageFiles
  readonly kptfile: Kptfile
  /** The upstream to compare with: the ref of the command line before that of the Kptfile. */
  readonly git: Required<GitReference>
  /** The commit that the package was last fetched from. */
  readonly lockedCommit: string
}

/** Reads `[PKG_PATH][@VERSION]`. @throws CommandError when the package has no upstream, PackageError */
export async function readLocalPackage(reference: string | undefined): Promise<LocalPackage> {
  const { location, ref } = splitVersion(reference ?? '.')
  const folder = location === '' ? '.' : location
  const files = await readPackageFolder(folder)
  const source = files.get('Kptfile')
  if (typeof source !== 'string')
    throw new CommandError(`${folder} has no Kptfile; run fairlead pkg init or pkg get first`)
  const kptfile = parseKptfile(source, resolve(folder, 'Kptfile'))
  const { repo, directory, ref: named } = kptfile.upstream?.git ?? {}
  const lockedCommit = kptfile.upstreamLock?.git?.commit
  if (repo === undefined || lockedCommit === undefined)
    throw new CommandError(
      `${folder}/Kptfile has no git upstream with a lock; only packages that pkg get fetched have one`,
    )
  const wanted = ref ?? named ?? kptfile.upstreamLock?.git?.ref ?? 'main'
  return { folder, files, kptfile, git: { repo, directory: directory ?? '/', ref: wanted }, lockedCommit }
}
