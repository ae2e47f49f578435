// The launchers of the command that tests start.
import { resolve } from 'node:path'

/** The launcher in the repository, which runs the sources. */
export const sourceLauncher: string = resolve(import.meta.dirname, '../../apps/cli/bin/fairlead.js')

/**
 * The launcher of the command as it is published: one bundle, which starts in half the time (bundled-command.ts). In a
 * run of chosen test files, the launcher in the repository.
 */
export const launcher: string = process.env['FAIRLEAD_TEST_LAUNCHER'] ?? sourceLauncher
