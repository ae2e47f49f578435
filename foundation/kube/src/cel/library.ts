// Function libraries: overloads by function name, declared by signature.
import type { CallCost } from './call-cost.ts'
import type { CelType } from './types.ts'
import { parseType, splitTypes } from './types.ts'
import type { CelValue } from './values.ts'

/** The implementation of a function; its arguments match the parameters of the signature. */
// oxlint-disable-next-line typescript/no-explicit-any -- each overload names the types of its own parameters
type Implementation = (...args: never[]) => CelValue

/** One signature of a function; the receiver of a method is its first parameter. */
export interface Overload {
  readonly name: string
  readonly member: boolean
  readonly parameters: readonly CelType[]
  readonly result: CelType
  readonly call: (args: readonly CelValue[]) => CelValue
  /** Undefined means one step. */
  readonly cost: CallCost | undefined
}

/** A set of functions; later definitions add overloads to earlier ones. */
export class Library {
  readonly #overloads = new Map<string, Overload[]>()

  /** Adds the functions of another library. */
  include(other: Library): this {
    for (const overloads of other.#overloads.values()) for (const overload of overloads) this.#add(overload)
    return this
  }

  /**
   * Declares one overload: `size(string): int`, `string.charAt(int): string` (a method), `math.abs(int): int` (a
   * namespace, where the part before the dot is not a type), `_+_(int, int): int` (an operator).
   */
  define(signature: string, implementation: Implementation, cost?: CallCost): this {
    const match = /^(?:(.*)\.)?([^.(]+)\((.*)\): (.+)$/s.exec(signature)
    if (match === null) throw new Error(`not a signature: ${signature}`)
    const [, receiver, name, parameters, result] = match as unknown as [
      string,
      string | undefined,
      string,
      string,
      string,
    ]
    const member = receiver !== undefined && isReceiver(receiver)
    const implement = implementation as unknown as (...args: readonly CelValue[]) => CelValue
    this.#add({
      name: receiver !== undefined && !member ? `${receiver}.${name}` : name,
      member,
      parameters: [...(member ? [receiver] : []), ...splitTypes(parameters)].map(parseType),
      result: parseType(result),
      call: (args) => implement(...args),
      cost,
    })
    return this
  }

  #add(overload: Overload): void {
    const known = this.#overloads.get(overload.name)
    if (known === undefined) this.#overloads.set(overload.name, [overload])
    else known.push(overload)
  }

  /** Reports whether a function of that name exists. */
  has(name: string): boolean {
    return this.#overloads.has(name)
  }

  /** Returns the library without some of its overloads. */
  without(isLeftOut: (overload: Overload) => boolean): Library {
    const rest = new Library()
    for (const overloads of this.#overloads.values())
      for (const overload of overloads) if (!isLeftOut(overload)) rest.#add(overload)
    return rest
  }

  /** Returns the overloads of a function. */
  overloads(name: string): readonly Overload[] {
    return this.#overloads.get(name) ?? []
  }
}

const receiverTypes =
  /^(?:bool|int|uint|double|string|bytes|dyn|timestamp|duration|[A-Z]|list<.*>|map<.*>|optional<.*>|kubernetes\..*|net\..*)$/s

function isReceiver(text: string): boolean {
  return receiverTypes.test(text)
}
