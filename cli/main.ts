import { completeCommand } from './completion/scripts.ts'
import type { Context } from './context.ts'

/** Runs one command line, without `node` and the program's name. Resolves to the exit code, never rejects. */
export async function main(args: readonly string[], context: Context): Promise<number> {
  // What only completes a line loads neither commands nor contracts.
  if (args[0] === completeCommand) {
    const { complete } = await import('./completion/complete.ts')
    return complete(context, args[1] === '--' ? args.slice(2) : args.slice(1))
  }
  const { runCommand } = await import('./run-command.ts')
  return runCommand(args, context)
}
