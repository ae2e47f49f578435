// `fairlead actions …`: menus, runs, and why a menu is as it is.
import type { Command } from '@fairlead/controller'
import { historyCommand } from './history.ts'
import { lintCommand } from './lint.ts'
import { listCommand } from './list.ts'
import { logsCommand } from './logs.ts'
import { rbacCommand } from './rbac.ts'
import { runCommand } from './run.ts'
import { whyCommand } from './why.ts'

/** All commands of the capability. */
export const commands: readonly Command[] = [
  listCommand,
  runCommand,
  whyCommand,
  historyCommand,
  logsCommand,
  lintCommand,
  rbacCommand,
]
