// Retries of writes that another write came before (client-go's retry.RetryOnConflict, GuaranteedUpdate of etcd3).
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { conflict } from '@fairlead/kube'
import { StoreError } from '../storage/store.ts'

const attempts = 100

/**
 * Runs a write again as long as the store reports a conflict. `attempt` counts from 0.
 * @throws StatusError 409 after too many attempts
 */
export async function retryOnConflict<T>(
  definition: ResourceDefinition,
  name: string,
  write: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await write(attempt)
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'Conflict') throw error
    }
  }
  throw conflict(definition, name)
}
