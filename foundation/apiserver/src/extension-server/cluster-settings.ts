// Follows the ConfigMap in which a cluster publishes whom to trust. What was read last counts until something better can be read.
import { ConfigMap } from '@fairlead/client'
import type { InformerPool, Logger } from '@fairlead/controller'
import { authenticationConfigMap, authenticationSettings, noSettings } from './front-proxy-settings.ts'
import type { AuthenticationSettings } from './front-proxy-settings.ts'

/** The settings as they are now. Needs the Role `extension-apiserver-authentication-reader`. */
export class ClusterSettings implements Disposable {
  readonly #uses = new DisposableStack()
  readonly #log: Logger
  readonly #listeners = new Set<() => void>()
  #current: AuthenticationSettings = noSettings
  #problem: string | undefined = 'not read yet'

  constructor(informers: InformerPool, log: Logger) {
    this.#log = log
    const { namespace, name } = authenticationConfigMap
    const { informer } = this.#uses.use(informers.use(ConfigMap, { namespace, fieldSelector: `metadata.name=${name}` }))
    this.#uses.use(
      informer.subscribe({
        changed: ({ type, object }) => {
          if (type === 'removed') this.#problem = `ConfigMap ${namespace}/${name} is gone; what it said last counts`
          else this.#take(object)
        },
        state: (state) => {
          if (state === 'Forbidden') this.#problem = `ConfigMap ${namespace}/${name} may not be read`
          else if (state === 'Synced' && informer.objects.size === 0)
            this.#problem = `there is no ConfigMap ${namespace}/${name}`
        },
      }),
    )
  }

  get current(): AuthenticationSettings {
    return this.#current
  }

  /** Why the settings are not what the cluster says now; undefined when they are. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Calls back whenever the settings are others. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  [Symbol.dispose](): void {
    this.#listeners.clear()
    this.#uses.dispose()
  }

  #take({ data = {} }: ConfigMap): void {
    try {
      this.#current = authenticationSettings(data)
      this.#problem = undefined
    } catch (error) {
      this.#problem = (error as Error).message
      this.#log.error('Could not read whom the cluster trusts', { error })
      return
    }
    for (const listener of this.#listeners) listener()
  }
}
