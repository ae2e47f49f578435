// Commands of the `fairlead` program as values. Start with `command`, which infers the types of options and arguments
// from their declarations. Import it from @fairlead/controller/command: `--help` loads this module and nothing else.
import type { Client } from '@fairlead/client'

/** A positional argument. */
export interface CommandArgument {
  readonly description: string
  readonly optional?: boolean
  /** Takes all remaining arguments; the last one only. */
  readonly variadic?: boolean
  /** Returns the values that shells offer on TAB; the context has the arguments before it. */
  readonly candidates?: (context: CompletionContext) => Promise<readonly string[]>
}

/** The command line that is completed, as far as it is written. */
export interface CompletionContext {
  /** The arguments before the one that is completed. */
  readonly arguments: readonly string[]
  /** The options given so far, by their long flag in camel case. */
  readonly options: Readonly<Record<string, string | undefined>>
  /** A client for the cluster that flags and kubeconfig name. */
  readonly client: Client
}

/** An option. It takes a value when `flags` has a placeholder in angle brackets, and is a switch otherwise. */
export interface CommandOption {
  /** `-f, --filename <file>`. */
  readonly flags: string
  readonly description: string
  readonly default?: string
  /** May be given any number of times. */
  readonly repeatable?: boolean
  /** The values that are allowed. */
  readonly choices?: readonly string[]
}

/** One command of the `fairlead` program; the CLI turns it into its parser's form. */
export interface Command {
  readonly name: string
  /** Set for the command of a group that runs when none is named. */
  readonly isDefault?: boolean
  readonly summary: string
  readonly examples: readonly string[]
  readonly arguments?: readonly (CommandArgument & { readonly name: string })[]
  readonly options?: readonly CommandOption[]
  /** Adds kubectl's `--kubeconfig` and `--context`: the command can talk to a cluster. */
  readonly usesCluster?: boolean
  run(context: CommandContext): Promise<number>
}

/** The context of a run. Options are named by their long flag in camel case. */
export interface CommandContext<
  Options = Readonly<Record<string, unknown>>,
  Arguments = readonly (string | readonly string[] | undefined)[],
> {
  readonly arguments: Arguments
  readonly options: Options
  readonly stdin: () => Promise<string>
  /** Prints to standard output; ends the line. */
  readonly out: (text: string) => void
  /** Prints to standard error; ends the line. */
  readonly err: (text: string) => void
  /** Returns a client for the cluster that flags and kubeconfig name; connects on first use. */
  readonly client: () => Promise<Client>
  readonly signal: AbortSignal
}

/** The value of an argument: a list when it is variadic. */
export type ArgumentValue<A extends CommandArgument> = A extends { readonly variadic: true }
  ? readonly string[]
  : A extends { readonly optional: true }
    ? string | undefined
    : string

/** The value of an option: a list when it is repeatable, boolean when its flags have no placeholder. */
export type OptionValue<O extends CommandOption> = O extends { readonly repeatable: true }
  ? readonly ChoiceOf<O>[]
  : O extends { readonly flags: `${string}<${string}>${string}` }
    ? ChoiceOf<O> | (O extends { readonly default: string } ? never : undefined)
    : boolean

type ChoiceOf<O extends CommandOption> = O extends { readonly choices: readonly (infer Choice extends string)[] }
  ? Choice
  : string

type Declared<T> = Readonly<Record<string, T>>

/** The declaration of a command, for {@link command}. */
export interface CommandDeclaration<
  Arguments extends Declared<CommandArgument>,
  Options extends Declared<CommandOption>,
> {
  readonly name: string
  readonly isDefault?: boolean
  readonly summary: string
  /** Shown first in `--help`. */
  readonly examples: readonly string[]
  /** By name, in their order on the command line. */
  readonly arguments?: Arguments
  /** By long flag in camel case: `dryRun` for `--dry-run`. */
  readonly options?: Options
  readonly usesCluster?: boolean
  /**
   * Returns the exit code: 0 ok, 1 error, 2 usage, 3 not ready. A CommandError (of @fairlead/offline) that it throws is
   * printed and gives the exit code.
   */
  run(
    context: CommandContext<
      { readonly [Name in keyof Options]: OptionValue<Options[Name]> },
      { readonly [Name in keyof Arguments]: ArgumentValue<Arguments[Name]> }
    >,
  ): Promise<number>
}

/** Declares a command. `run` gets options and arguments by name, with the types of their declarations. */
export function command<
  const Arguments extends Declared<CommandArgument> = Record<never, never>,
  const Options extends Declared<CommandOption> = Record<never, never>,
>(declaration: CommandDeclaration<Arguments, Options>): Command {
  const { arguments: named, options: declared, ...rest } = declaration
  const names = Object.keys(named ?? {})
  const options = Object.entries<CommandOption>(declared ?? {})
  for (const [name, { flags }] of options)
    if (name !== optionName(flags)) throw new Error(`The option ${flags} must be declared as ${optionName(flags)}`)
  return {
    ...rest,
    ...(named && { arguments: names.map((name) => ({ ...(named[name] as CommandArgument), name })) }),
    ...(declared && { options: options.map(([, option]) => option) }),
    run: (context) => {
      const values = options.map(([name, option]) => [name, valueOf(option, context.options[name])])
      const given = names.map((name, index) => [name, context.arguments[index] ?? missing(named![name]!)])
      return declaration.run({
        ...context,
        options: Object.fromEntries(values),
        arguments: Object.fromEntries(given),
      } as Parameters<CommandDeclaration<Arguments, Options>['run']>[0])
    },
  }
}

/** The long flag in camel case, as the parser names the value. */
function optionName(flags: string): string {
  const [, long = ''] = /--([\w-]+)/.exec(flags) ?? []
  return long.replaceAll(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase())
}

function valueOf({ flags, repeatable, default: fallback }: CommandOption, value: unknown): unknown {
  if (repeatable === true) return value ?? []
  return flags.includes('<') ? (value ?? fallback) : value === true
}

function missing({ variadic }: CommandArgument): readonly string[] | undefined {
  return variadic === true ? [] : undefined
}
