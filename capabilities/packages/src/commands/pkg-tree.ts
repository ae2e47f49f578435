// `fairlead pkg tree`: shows a package as a tree.
import { basename, resolve } from 'node:path'
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode } from '@fairlead/offline'
import { packageTree } from '../engine/package-tree.ts'
import { readPackageFolder } from '../offline/package-folder.ts'

/** Prints the tree. */
export async function run({
  arguments: { folder = '.' },
  out,
}: CommandContext<Readonly<Record<never, never>>, { readonly folder: string | undefined }>): Promise<number> {
  for (const line of packageTree(basename(resolve(folder)), await readPackageFolder(folder))) out(line)
  return exitCode.ok
}
