import { type Command, CommanderError } from 'commander'
import { GantryError } from '../subjects/kit/errors.ts'
import { completeCommand } from './commands/completion.ts'
import type { Context } from './context.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { report } from './failure.ts'
import { createProgram } from './program.ts'

/** Runs one command line, without `node` and the program's name. Resolves to the exit code, never rejects. */
export async function main(args: readonly string[], context: Context): Promise<number> {
  const program = createProgram(context)
  const json = args.includes('--json')
  let notFound: string | undefined
  try {
    notFound = await lookElsewhere(program, args, context)
    await program.parseAsync(args, { from: 'user' })
    return context.exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      report(context.terminal, error, { json })
      return exitCodeOf(error)
    }
    if (error.exitCode === 0) return exitCodes.ok.status
    // Without a command it has printed help.
    if (error.code !== 'commander.help')
      report(context.terminal, usageError(program, args, error, notFound), { json })
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
  // Of a line that is being completed the last word is not whole yet.
  const [word] = operands[0] === completeCommand ? operands.slice(1, -1) : operands
  if (word === undefined || program.commands.some((command) => command.name() === word)) return undefined
  const { addExtension } = await import('./commands/extension-commands.ts')
  return addExtension(program, word, context)
}

/** What was wrong with the command line, and where help is. @param note what else there is to say of an unknown command */
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
  const isMeant = code === 'commander.unknownCommand' && !message.includes('Did you mean')
  const why = isMeant && note !== undefined ? ` (${note})` : ''
  return new GantryError('INVALID_INPUT', `${text}${why}; see ${pathOf(program, args)} --help`)
}

/** The command that the words name, as far as there is one. */
function pathOf(program: Command, args: readonly string[]): string {
  let command = program
  let path = program.name()
  for (const arg of args) {
    const next = command.commands.find((one) => one.name() === arg)
    if (next === undefined) continue
    command = next
    path += ` ${arg}`
  }
  return path
}
