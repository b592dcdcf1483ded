import { type Command, CommanderError } from 'commander'
import { GantryError } from '../subjects/errors.ts'
import type { Context } from './context.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { report } from './failure.ts'
import { createProgram } from './program.ts'

/** Runs one command line, without `node` and the program's name. Resolves to the exit code, never rejects. */
export async function main(args: readonly string[], context: Context): Promise<number> {
  const program = createProgram(context)
  const json = args.includes('--json')
  try {
    await program.parseAsync(args, { from: 'user' })
    return context.exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      report(context.terminal, error, { json })
      return exitCodeOf(error)
    }
    if (error.exitCode === 0) return exitCodes.ok.status
    // Without a command it has printed help.
    if (error.code !== 'commander.help') report(context.terminal, usageError(program, args, error), { json })
    return exitCodes.usage.status
  }
}

/** What was wrong with the command line, and where help is. */
function usageError(program: Command, args: readonly string[], { message }: CommanderError): GantryError {
  const text = message
    .replace(/^error: /, '')
    .replace(/\n\((.+)\)$/, ' ($1)')
    .replace(/\.$/, '')
  return new GantryError('INVALID_INPUT', `${text}; see ${pathOf(program, args)} --help`)
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
