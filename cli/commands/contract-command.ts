import { Argument, type Command, Option } from 'commander'
import type { FieldText } from '../../subjects/kit/coerce.ts'
import { type CliShape, type Contract, verbOf } from '../../subjects/kit/contract.ts'
import { exitCodes } from '../exit-codes.ts'
import { valueText } from '../output/format.ts'
import { examplesText, exampleOf, explanation, placeholder, usageOf } from '../help.ts'
import { type Field, type Shape, shapeOf } from '../output/shape.ts'
import { printableLines } from '../output/terminal.ts'

/** The flag of commands that ask for confirmation; see `confirmOwn` and `confirms` of a contract. */
export const yesFlag = 'yes'

/** The flag of commands that begin what goes on after the reply; see `waits` of a contract. */
export const waitFlag = 'wait'

const waitHelp = (waits: NonNullable<CliShape['waits']>): string =>
  'while' in waits
    ? `wait until ${waits.while.field} is no longer ${waits.while.is}`
    : `wait until it has ended; the exit code is ${exitCodes.failed.status} unless it is complete, with ${waits.zero.join(' and ')} 0`

/** Switches something on, or off as `--no-…`. */
export class Switch extends Option {}

/** What is done with a command line that a contract's command has read. */
export type RunContract = (
  contract: Contract,
  shape: Shape,
  given: ReadonlyMap<Field, FieldText>,
  command: Command,
) => Promise<void>

/** How a command is called, where that is not by resource and verb of its contract. */
export interface OtherWords {
  /** All after the program's name. */
  readonly words: readonly string[]
  readonly shape: Shape
}

/** Adds the command of a contract, `<resource> <verb>`, below that of its resource, or the last of other words. */
export function addContractCommand(
  parent: Command,
  contract: Contract,
  run: RunContract,
  other?: OtherWords,
): Command {
  const shape = other?.shape ?? shapeOf(contract)
  const command = parent
    .command(other?.words.at(-1) ?? verbOf(contract))
    .summary(contract.summary)
    .description(descriptionOf(contract))
    .usage(usageOf(shape))
    .addHelpText('after', examplesText([exampleOf(contract, shape, other?.words)]))
  // Its verb on the wire is a command too, where people write it otherwise.
  if (other === undefined && contract.verb !== command.name()) command.alias(contract.verb)
  for (const field of shape.args) command.addArgument(argumentOf(field, shape))
  const options = new Map(shape.flags.map((field) => [field, optionOf(field, shape)]))
  for (const [field, option] of options) {
    command.addOption(option)
    // Not in the help: the term of the other one says it.
    if (field.kind === 'boolean') command.addOption(new Option(`--no-${field.flag}`).hideHelp())
    const { otherFlag } = field
    if (otherFlag !== undefined)
      command.addOption(new Option(`--${otherFlag} <${placeholder(field)}>`).hideHelp())
  }
  if (contract.cli?.waits !== undefined) command.option(`--${waitFlag}`, waitHelp(contract.cli.waits))
  const { confirmOwn, confirms } = contract.cli ?? {}
  if (confirmOwn !== undefined || confirms !== undefined)
    command.option(`--${yesFlag}`, 'skip the confirmation')
  return command.action(async () => {
    const given = new Map<Field, FieldText>()
    for (const [field, option] of options) {
      const { otherFlag } = field
      if (otherFlag !== undefined)
        keep(given, field, command.getOptionValue(new Option(`--${otherFlag}`).attributeName()))
      keep(given, field, command.getOptionValue(option.attributeName()))
    }
    // Of several, the first that fails is the last: what was printed says which were done.
    const turns = shape.takesSeveral ? command.args.map((text) => [text]) : [command.args]
    for (const texts of turns) {
      for (const [index, field] of shape.args.entries()) keep(given, field, texts[index])
      await run(contract, shape, given, command)
    }
  })
}

function descriptionOf({ summary, description, cli }: Contract): string {
  const { failed } = cli ?? {}
  return [
    `${summary}.`,
    ...(description === undefined ? [] : [printableLines(description)]),
    ...(failed === undefined
      ? []
      : [
          `The exit code is ${exitCodes.failed.status} if ${failed.field} is ${valueText(failed.is, failed.field)}.`,
        ]),
  ].join('\n')
}

function keep(given: Map<Field, FieldText>, field: Field, value: unknown): void {
  if (typeof value === 'string') given.set(field, value)
  else if (typeof value === 'boolean') given.set(field, String(value))
  else if (Array.isArray(value)) given.set(field, value.map(String))
}

function argumentOf(field: Field, { takesSeveral }: Shape): Argument {
  const { flag, required, choices } = field
  const argument = new Argument(
    required ? `<${flag}${takesSeveral ? '...' : ''}>` : `[${flag}]`,
    field.schema.description ?? '',
  )
  return choices === undefined ? argument : argument.choices(choices)
}

function optionOf(field: Field, shape: Shape): Option {
  const { flag, kind, choices } = field
  if (kind === 'boolean') return new Switch(`--${flag}`, explanation(field, shape))
  const option = new Option(`--${flag} <${placeholder(field)}>`, explanation(field, shape))
  if (kind === 'list' || kind === 'record') {
    option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), text])
  } else if (choices !== undefined) {
    option.choices(choices)
  }
  return option
}
