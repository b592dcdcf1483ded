import { type Command, CommanderError } from 'commander'
import { GantryError } from '../subjects/kit/errors.ts'
import { commandNamed } from './commands/aliases.ts'
import { commandsLike, optionsLike } from './commands/suggestions.ts'
import type { Context, Globals } from './context.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { report } from './failure.ts'
import { createProgram } from './program.ts'

/** Runs one command line, without `node` and the program's name. Resolves to the exit code, never rejects. */
export async function runCommand(args: readonly string[], context: Context): Promise<number> {
  const program = createProgram(context, args)
  const isJson = () => args.includes('--json') || program.opts<Globals>().output === 'json'
  let notFound: string | undefined
  try {
    notFound = await lookElsewhere(program, args, context)
    await program.parseAsync(args, { from: 'user' })
    return context.exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      report(context.terminal, error, { json: isJson() })
      return exitCodeOf(error)
    }
    if (error.exitCode === 0) return exitCodes.ok.status
    // Without a command it has printed help.
    if (error.code !== 'commander.help')
      report(
        context.terminal,
        // Help says the same of a word as the word itself.
        usageError(program, args[0] === 'help' ? args.slice(1) : args, error, notFound),
        { json: isJson() },
      )
    return exitCodes.usage.status
  }
}

/** A first word that is none of our commands may be an extension. Resolves to why that is not known, if so. */
async function lookElsewhere(
  program: Command,
  args: readonly string[],
  context: Context,
): Promise<string | undefined> {
  const { operands } = program.parseOptions([...args])
  const [word] = operands[0] === 'help' ? operands.slice(1) : operands
  if (word === undefined || commandNamed(program, word) !== undefined) return undefined
  const { addExtension } = await import('./commands/extension-commands.ts')
  return addExtension(program, word, { context, globals: program.opts<Globals>() })
}

/** What was wrong with the command line, what may be meant, and where help is. @param note what else there is to say of an unknown command */
function usageError(
  program: Command,
  args: readonly string[],
  { message, code }: CommanderError,
  note: string | undefined,
): GantryError {
  const text = message
    .replace(/^error: /, '')
    .replace(/\n\((.+)\)$/, ' ($1)')
    .replace(/\.$/, '')
  const { command, path } = commandOf(program, args)
  const choice = wrongChoice.exec(text)?.groups
  if (choice !== undefined) {
    const place = choice['option'] ?? `<${choice['argument']}>`
    const fix = `use ${choice['choices']}; see ${path} --help`
    return new GantryError('INVALID_INPUT', `'${choice['word']}' is not allowed for ${place}: ${fix}`)
  }
  if (code === 'commander.excessArguments') {
    // Some commands take the name of what they make as an option.
    const named =
      command.registeredArguments.length === 0 && command.options.find(({ long }) => long?.endsWith('-id'))
    const fix = named ? `use ${named.long}` : `usage: ${path} ${command.usage()}`
    return new GantryError('INVALID_INPUT', `${text}; ${fix}; see ${path} --help`)
  }
  const like = likeWord(command, message, args)
  const what = like.length === 0 ? text : text.replace(/ \(Did you mean .*\)$/, '')
  const isUnknown = code === 'commander.unknownCommand' && !what.includes('Did you mean')
  const why = like.length === 0 && isUnknown && note !== undefined ? ` (${note})` : didYouMean(like)
  return new GantryError('INVALID_INPUT', `${what}${why}; see ${path} --help`)
}

/** How the parser says that a value is none of the choices. */
const wrongChoice =
  /^(?:option '(?<option>[^']*)' argument|command-argument value) '(?<word>.*)' is invalid(?: for argument '(?<argument>[^']*)')?\. Allowed choices are (?<choices>.*)$/s

/** What a word that is not known may stand for. */
function likeWord(command: Command, message: string, args: readonly string[]): readonly string[] {
  const { what, word } = /^error: unknown (?<what>command|option) '(?<word>.*)'/s.exec(message)?.groups ?? {}
  if (word === undefined) return []
  return what === 'command' ? commandsLike(command, word, args) : optionsLike(command, word)
}

const didYouMean = (like: readonly string[]): string =>
  like.length === 0 ? '' : ` (Did you mean ${like.length > 1 ? 'one of ' : ''}${like.join(', ')}?)`

/** The command that the words name, as far as there is one. */
function commandOf(program: Command, args: readonly string[]): { command: Command; path: string } {
  let command = program
  let path = program.name()
  const valued = program.options
    .filter(({ required }) => required)
    .map(({ long, short = long }) => [long, short])
    .flat()
  for (const [index, arg] of args.entries()) {
    if ((index > 0 && valued.includes(args[index - 1])) || arg.startsWith('-')) continue
    const next = commandNamed(command, arg)
    if (next === undefined) break
    command = next
    path += ` ${command.name()}`
  }
  return { command, path }
}
