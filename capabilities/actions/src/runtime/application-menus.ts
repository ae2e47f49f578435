// Applications and their components, with menus and status. Start with ApplicationMenus.components.
import { isClientError } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { asActionError } from '../engine/action-error.ts'
import {
  applicationApi,
  componentKindsOf,
  componentNamespaces,
  hiddenAnnotation,
  isApplication,
  isComponent,
  selectorOf,
} from '../engine/application.ts'
import { applicationStatus } from '../engine/application-status.ts'
import type { ResourceStatus } from '../engine/maps/status-map.ts'
import type { Menu } from '../engine/menu.ts'
import type { KindTable } from './kind-table.ts'
import type { Caller } from './rights.ts'

/** An Application or one of its components, with its menu and status. */
export interface WithMenu extends Menu {
  readonly status: ResourceStatus
}

/** The components of an Application that the caller may list. */
export interface Components {
  readonly components: readonly WithMenu[]
  /** Messages about kinds and namespaces that are missing. */
  readonly unknown: readonly string[]
}

interface ApplicationMenusOptions {
  readonly kinds: KindTable
  /** Returns the menu of an object that the caller has read. */
  readonly menu: (caller: Caller, object: KubeObject) => Promise<Menu>
  /** Returns the status of an object by its status map. */
  readonly status: (caller: Caller, object: KubeObject) => Promise<ResourceStatus>
  readonly precedence: () => readonly string[]
  readonly unknownValue: () => string
}

interface Found {
  readonly components: readonly KubeObject[]
  readonly unknown: readonly string[]
}

/** Maximum number of Applications within Applications that a status is derived from. */
const maxNested = 100

/** Lists Applications and components with the rights of callers. */
export class ApplicationMenus {
  readonly #options: ApplicationMenusOptions

  constructor(options: ApplicationMenusOptions) {
    this.#options = options
  }

  /** Returns the Applications that the caller may list, with their menus; hidden ones are left out. */
  async list(caller: Caller, namespace?: string): Promise<readonly WithMenu[]> {
    let items: readonly KubeObject[]
    try {
      ;({ items } = await caller.client.list(applicationApi, { namespace }))
    } catch (error) {
      if (!isClientError(error, 'UnknownKind')) throw error
      return []
    }
    const shown = items.filter(({ metadata }) => metadata.annotations?.[hiddenAnnotation] === undefined)
    return Promise.all(shown.map((application) => this.#withMenu(caller, { ...applicationApi, ...application })))
  }

  /**
   * Returns the components of an Application with their menus: one list per kind and namespace, no request per
   * component.
   */
  async components(caller: Caller, key: { readonly namespace: string; readonly name: string }): Promise<Components> {
    const application = await caller.client.get(applicationApi, key)
    const { components, unknown } = await this.#find(caller, application)
    return { components: await Promise.all(components.map((component) => this.#withMenu(caller, component))), unknown }
  }

  /**
   * Returns the status of an object: of an Application, that of its components and of the components of Applications
   * among them, each counted once.
   */
  async status(caller: Caller, object: KubeObject): Promise<ResourceStatus> {
    const { precedence, status, unknownValue } = this.#options
    if (!isApplication(object)) return status(caller, object)
    const leaves = await this.#leaves(caller, object)
    const known = await Promise.all(
      leaves.map(async (component) => ({
        name: `${component.kind} ${component.metadata.name ?? ''}`,
        status: await status(caller, component),
      })),
    )
    return applicationStatus(known, precedence(), unknownValue())
  }

  async #withMenu(caller: Caller, object: KubeObject): Promise<WithMenu> {
    return { ...(await this.#options.menu(caller, object)), status: await this.status(caller, object) }
  }

  /** Returns the components that are no Applications; Applications may contain each other. */
  async #leaves(caller: Caller, application: KubeObject): Promise<readonly KubeObject[]> {
    const leaves: KubeObject[] = []
    const seen = new Set([application.metadata.uid])
    const applications = [application]
    for (const one of applications)
      for (const component of (await this.#find(caller, one)).components) {
        if (seen.has(component.metadata.uid)) continue
        seen.add(component.metadata.uid)
        if (!isApplication(component)) leaves.push(component)
        else if (applications.length <= maxNested) applications.push(component)
      }
    return leaves
  }

  async #find(caller: Caller, application: KubeObject): Promise<Found> {
    const labelSelector = selectorOf(application)
    const components: KubeObject[] = []
    const unknown: string[] = []
    for (const { group, kind } of labelSelector === undefined ? [] : componentKindsOf(application)) {
      const found = await this.#options.kinds.kindOf(group === '' ? kind : `${kind}.${group}`)
      if (found === undefined) {
        unknown.push(`the server has no kind ${kind}${group === '' ? '' : ` in group ${group}`}`)
        continue
      }
      const like = { apiVersion: found.apiVersion, kind: found.kind }
      for (const namespace of componentNamespaces(application)) {
        let items: readonly KubeObject[]
        try {
          ;({ items } = await caller.client.list(like, { namespace, labelSelector }))
        } catch (error) {
          const known = asActionError(error)
          // One kind, or one namespace, that the caller may not list does not hide the others.
          if (known?.status !== 403 && known?.status !== 404) throw error
          unknown.push(known.message)
          continue
        }
        components.push(...items.map((item) => ({ ...item, ...like })).filter((item) => isComponent(application, item)))
      }
    }
    return { components, unknown }
  }
}
