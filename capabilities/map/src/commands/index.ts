// `fairlead map …`: what map controllers would do, whether a hook does what it should, and which rights they need.
import type { Command } from '@fairlead/controller'
import { rbacCommand } from './rbac.ts'
import { renderCommand } from './render.ts'
import { testCommand } from './test.ts'

/** All commands of the capability. */
export const commands: readonly Command[] = [renderCommand, testCommand, rbacCommand]
