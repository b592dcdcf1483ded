import type { Argument as CommandArgument, Command, Option } from 'commander'
import { addExtension } from '../commands/extension-commands.ts'
import { nameListAt } from '../commands/lists.ts'
import type { Context, Globals } from '../context.ts'
import { createProgram } from '../program.ts'
import { isPlain } from './names.ts'
import type { Argument, CommandNode, Flag, Value } from './tree.ts'

/** All that can be typed, but commands of extensions. */
export const grow = (context: Context): CommandNode => nodeOf(createProgram(context), [])

/** What can be typed, with the commands of an extension, where there is one of that name. */
export async function growExtension(context: Context, globals: Globals, word: string): Promise<CommandNode> {
  const program = createProgram(context, [])
  await addExtension(program, word, { context, globals })
  return nodeOf(program, [])
}

/** @param words of the command, without the program's name */
function nodeOf(command: Command, words: readonly string[]): CommandNode {
  const help = command.createHelp()
  const visible = help.visibleOptions(command)
  const all = [...visible, ...command.options.filter((option) => !visible.includes(option))]
  return {
    name: command.name(),
    aliases: command.aliases(),
    meaning: command.summary() || command.description(),
    flags: all.flatMap((option) => flagOf(option, words, visible.includes(option))),
    arguments: command.registeredArguments.map((argument) => argumentOf(argument, words)),
    commands: help.visibleCommands(command).map((one) => nodeOf(one, [...words, one.name()])),
  }
}

function flagOf(option: Option, words: readonly string[], isVisible: boolean): Flag[] {
  const { long, short, description, required } = option
  if (!long) return []
  const value = required ? valueOf(long.replace(/^--/, ''), option, words) : {}
  return [
    {
      long,
      ...(short && { short }),
      meaning: description,
      ...(required && { takesValue: true }),
      ...(!isVisible && { isHidden: true }),
      ...value,
    },
  ]
}

const argumentOf = (argument: CommandArgument, words: readonly string[]): Argument => ({
  ...(argument.variadic && { isVariadic: true }),
  ...valueOf(argument.name(), argument, words),
})

function valueOf(
  name: string,
  { argChoices }: { readonly argChoices?: readonly string[] | undefined },
  words: readonly string[],
): Value {
  // Those of an extension are words of others.
  if (argChoices !== undefined) return { choices: argChoices.filter(isPlain) }
  const list = nameListAt({ words, value: name })
  return list === undefined ? {} : { list }
}
