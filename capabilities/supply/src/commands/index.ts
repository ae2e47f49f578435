// `fairlead supply …`: what a workload would stamp, whether templates and rules do what they should, how a chain does, and which rights it needs.
import type { Command } from '@fairlead/controller'
import { rbacCommand } from './rbac.ts'
import { renderCommand } from './render.ts'
import { testCommand } from './test.ts'
import { treeCommand } from './tree.ts'

/** All commands of the capability. */
export const commands: readonly Command[] = [renderCommand, testCommand, treeCommand, rbacCommand]
