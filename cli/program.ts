import { Command, type Option } from 'commander'
import { version } from '../broker/common/version.ts'
import type { Contract } from '../subjects/kit/contract.ts'
import { contracts } from '../subjects/index.ts'
import { product, title } from '../subjects/kit/names.ts'
import { callContract } from './commands/call-contract.ts'
import type { Context } from './context.ts'
import { addContractCommand, type RunContract, Switch } from './commands/contract-command.ts'
import { addHandWritten } from './commands/hand-written.ts'
import { addHive } from './commands/hive.ts'
import { closingText, examplesText } from './help.ts'

/** What a newcomer does first, in this order. */
const firstSteps = [
  `${product} up`,
  `${product} filesystems create-local here --role source --fs-root /srv/data`,
  `${product} filesystems create-local there --role target --fs-root /mnt/copy`,
  `${product} migrations create --migration-id nightly --path / --source here --target there --auto-start`,
  `${product} watch nightly`,
]

/** All commands: those of the contracts, and the few that are written by hand. Parsing throws CommanderError. */
export function createProgram(context: Context): Command {
  const { terminal } = context
  const program = new Command(product)
    .description(`${title}: live data migration and an extension platform on a message broker.`)
    .version(version, '--version', 'print the version')
    .helpOption('--help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .option('--json', 'print the reply as JSON, and an error as its body')
    .option('--server <url>', 'address of the broker; default: the one in the token')
    .option('--token-file <path>', 'file with the API token')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
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
      subcommandTerm: (command) => command.name(),
      styleTitle: (text) => terminal.style('bold', text),
    })
    .addHelpText('after', examplesText(firstSteps) + closingText())
  program.commandsGroup('Commands:')
  addHandWritten(program, context)
  program.commandsGroup('Resources:')
  const run = callContract(context)
  addContracts(program, contracts, run)
  addHive(program, run)
  return program
}

/** `gantry <resource> <verb>` for each contract. */
export function addContracts(program: Command, all: readonly Contract[], run: RunContract): void {
  const commands = all.filter(({ brokerOnly }) => brokerOnly !== true)
  for (const [resource, own] of Map.groupBy(commands, (contract) => contract.resource)) {
    const examples = own.flatMap(({ cli }) => cli?.example ?? [])
    const group = program
      .command(resource)
      .summary(own.map(({ verb }) => verb).join(', '))
      .description(`Commands on ${resource}.`)
      .helpCommand(false)
    if (examples.length > 0) group.addHelpText('after', examplesText(examples))
    for (const contract of own) addContractCommand(group, contract, run)
  }
}

const optionTerm = (option: Option): string =>
  option instanceof Switch ? option.flags.replace('--', '--[no-]') : option.flags
