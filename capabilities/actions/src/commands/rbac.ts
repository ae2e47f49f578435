// `fairlead actions rbac`: prints the roles that users need to see and run actions, for kubectl apply.
import type { CommandContext } from '@fairlead/controller/command'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { exitCode } from '@fairlead/offline/command-error'
import { actionRoles, delegationRoles, endpointRoles } from '../defaults/roles.ts'

/** Prints the roles. */
export async function run({ out }: Pick<CommandContext, 'out'>): Promise<number> {
  out(stringifyYamlDocuments([...endpointRoles, ...actionRoles, ...delegationRoles]))
  return exitCode.ok
}
