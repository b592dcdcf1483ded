import { Command, Help, Option } from 'commander'
import { version } from '../broker/common/version.ts'
import { type Contract, verbOf } from '../subjects/kit/contract.ts'
import { contracts } from '../subjects/index.ts'
import { product, title } from '../subjects/kit/names.ts'
import { callContract } from './commands/call-contract.ts'
import type { Context } from './context.ts'
import { addAliases, otherNamesOf } from './commands/aliases.ts'
import { addContractCommand, type RunContract, Switch } from './commands/contract-command.ts'
import { addHandWritten } from './commands/hand-written.ts'
import { addHive } from './commands/hive.ts'
import { closingText, examplesText } from './help.ts'
import { forms } from './output/form.ts'
import { asTyped } from './as-typed.ts'

/** What a newcomer does first, in this order. */
const firstSteps = [
  `${product} up`,
  `${product} filesystems create-local here --role source --fs-root /srv/data`,
  `${product} filesystems create-local there --role target --fs-root /mnt/copy`,
  `${product} migrations create --migration-id nightly --path / --source here --target there --auto-start`,
  `${product} watch nightly`,
]

/**
 * All commands: those of the contracts, and the few that are written by hand. Parsing throws CommanderError.
 * @param args what is to be parsed: resources that it does not name are listed without their commands, which take most of the
 * time to make; by default all are made
 */
export function createProgram(context: Context, args?: readonly string[]): Command {
  const { terminal } = context
  const program = new Command(product)
    .description(`${title}: live data migration and an extension platform on a message broker.`)
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .addOption(
      new Option('-o, --output <form>', 'output format; with json, errors are JSON too').choices(forms),
    )
    .option('--columns <names>', 'fields to print, separated by commas; with -o name, the value alone')
    .option('--json', 'same as -o json')
    .option('--wide', 'same as -o wide: all fields and columns')
    .option('--server <url>', 'broker address; default: from the token')
    .option('--token-file <path>', 'file with the API token')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(asTyped(terminal, text)),
      writeErr: (text) => terminal.err(asTyped(terminal, text)),
      // Whoever parses gets the error and says it in Gantry's form.
      outputError: () => undefined,
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
      getOutHasColors: () => terminal.isTty,
      getErrHasColors: () => terminal.isTty,
    })
    .configureHelp({
      showGlobalOptions: true,
      optionTerm,
      optionDescription,
      subcommandTerm: (command) => command.name(),
      minWidthToWrap,
      padWidth: (command, help) => Math.min(maxTermWidth, usual.padWidth.call(help, command, help)),
      formatItem,
      styleTitle: (text) => terminal.style('bold', text),
    })
    .addHelpText('after', examplesText(firstSteps) + closingText())
  program.commandsGroup('Commands:')
  addHandWritten(program, context)
  program.commandsGroup('Resources:')
  const run = callContract(context)
  const isNamed = (name: string) =>
    args === undefined || args.some((word) => word === name || otherNamesOf(name).includes(word))
  addContracts(program, contracts, run, isNamed)
  addHive(program, run, isNamed)
  addAliases(program)
  return program
}

/** `gantry <resource> <verb>` for each contract. @param isNamed whether the commands of a resource are needed */
export function addContracts(
  program: Command,
  all: readonly Contract[],
  run: RunContract,
  isNamed: (resource: string) => boolean = () => true,
): void {
  const commands = all.filter(({ brokerOnly }) => brokerOnly !== true)
  for (const [resource, own] of Map.groupBy(commands, (contract) => contract.resource)) {
    const examples = own.flatMap(({ cli }) => cli?.example ?? [])
    const group = program
      .command(resource)
      .summary(own.map(verbOf).join(', '))
      .description(`Commands for ${resource}.`)
      .helpCommand(false)
    if (examples.length > 0) group.addHelpText('after', examplesText(examples))
    if (isNamed(resource)) for (const contract of own) addContractCommand(group, contract, run)
  }
}

/** Of a column of help; texts are wrapped down to it. */
const minWidthToWrap = 20
/** Of the options in help: wider ones stand above what is said of them, so that this has the room. */
const maxTermWidth = 28
const { prototype: usual } = Help

function formatItem(this: Help, term: string, width: number, description: string, help: Help): string {
  const format = (one: string) => usual.formatItem.call(this, one, width, description, help)
  const isWide = description !== '' && help.displayWidth(term) > width
  return isWide ? `  ${term}\n${format('')}` : format(term)
}

/** Choices that are explained one by one are not listed again. */
function optionDescription(this: Help, option: Option): string {
  const { argChoices, description } = option
  const isSaid = argChoices?.every((choice) => description.includes(`${choice}: `)) ?? false
  return isSaid ? description : usual.optionDescription.call(this, option)
}

const optionTerm = (option: Option): string =>
  option instanceof Switch ? option.flags.replace('--', '--[no-]') : option.flags
