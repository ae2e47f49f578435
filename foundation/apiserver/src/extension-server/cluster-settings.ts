// Watches the ConfigMap with the authentication settings of the cluster. The last valid settings stay in force.
import { ConfigMap } from '@fairlead/client'
import type { InformerPool, Logger } from '@fairlead/controller'
import { DisposableStack } from '@fairlead/kube'
import { authenticationConfigMap, authenticationSettings, noSettings } from './front-proxy-settings.ts'
import type { AuthenticationSettings } from './front-proxy-settings.ts'

/** The current authentication settings. Needs the Role `extension-apiserver-authentication-reader`. */
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
          if (type === 'removed')
            this.#problem = `ConfigMap ${namespace}/${name} was deleted; its last settings stay in force`
          else this.#update(object)
        },
        state: (state) => {
          if (state === 'Forbidden') this.#problem = `ConfigMap ${namespace}/${name} may not be read`
          else if (state === 'Synced' && informer.lastKnown.size === 0)
            this.#problem = `there is no ConfigMap ${namespace}/${name}`
        },
      }),
    )
  }

  get current(): AuthenticationSettings {
    return this.#current
  }

  /** The reason why the settings are not current; undefined when they are. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Calls `listener` after each change of the settings. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  [Symbol.dispose](): void {
    this.#listeners.clear()
    this.#uses.dispose()
  }

  #update({ data = {} }: ConfigMap): void {
    try {
      this.#current = authenticationSettings(data)
      this.#problem = undefined
    } catch (error) {
      this.#problem = (error as Error).message
      this.#log.error('Could not read the authentication settings of the cluster', { error })
      return
    }
    for (const listener of this.#listeners) listener()
  }
}
