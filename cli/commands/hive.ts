import { type Command, Option } from 'commander'
import type { Contract } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { type CatalogKind, catalogKinds } from '../../subjects/metadata/kinds.ts'
import { examplesText } from '../help.ts'
import { type Field, type Shape, shapeOf } from '../output/shape.ts'
import { addContractCommand, type RunContract } from './contract-command.ts'

/** A command by the words that people know, over a contract that does the work. */
interface HiveCommand {
  /** After `gantry hive`. */
  readonly words: readonly [string, ...string[]]
  readonly calls: Contract
  /** Flags by other names than those of their fields. */
  readonly flags?: Readonly<Record<string, string>>
  /** Shows other columns when this flag is given. */
  readonly detailed?: readonly string[]
  /** Flags of other tools that say how to get at another host. */
  readonly isOfHosts?: true
  /** Field that may have several names with commas between them: it is called for each, in order. */
  readonly each?: string
}

/** People call a catalog an agent. */
const agentName = { catalogId: 'name' }
const ruleName = { ruleName: 'name' }
const migrationName = { migrationName: 'name' }

const kinds = Object.keys(catalogKinds) as CatalogKind[]
const { delete: deleteMigration, create, list, get, objects } = metadataMigrations

const commands: readonly HiveCommand[] = [
  ...kinds.flatMap((kind): HiveCommand[] => [
    {
      words: ['agent', 'add', kind],
      calls: metadataCatalogs[`create-${kind}`],
      flags: agentName,
      isOfHosts: true,
    },
    {
      words: ['agent', 'configure', kind],
      calls: metadataCatalogs[`update-${kind}`],
      flags: agentName,
      isOfHosts: true,
    },
  ]),
  { words: ['agent', 'check'], calls: metadataCatalogs['check-stored'], flags: agentName },
  { words: ['agent', 'delete'], calls: metadataCatalogs.delete, flags: agentName },
  {
    words: ['agent', 'list'],
    calls: metadataCatalogs.list,
    detailed: ['catalogId', 'kind', 'properties'],
  },
  { words: ['agent', 'show'], calls: metadataCatalogs.get, flags: agentName },
  { words: ['agent', 'types'], calls: metadataCatalogs.kinds },
  { words: ['rule', 'add'], calls: metadataRules.create, flags: ruleName },
  { words: ['rule', 'create'], calls: metadataRules.create, flags: ruleName },
  { words: ['rule', 'configure'], calls: metadataRules.update, flags: ruleName },
  { words: ['rule', 'delete'], calls: metadataRules.delete, flags: ruleName },
  { words: ['rule', 'list'], calls: metadataRules.list },
  { words: ['rule', 'show'], calls: metadataRules.get, flags: ruleName },
  { words: ['rule', 'test'], calls: metadataRules.test },
  { words: ['migration', 'add'], calls: create, flags: migrationName },
  { words: ['migration', 'delete'], calls: deleteMigration, flags: migrationName },
  { words: ['migration', 'list'], calls: list },
  { words: ['migration', 'show'], calls: get, flags: migrationName },
  { words: ['migration', 'objects'], calls: objects, flags: migrationName },
  ...(['start', 'stop', 'pause', 'resume'] as const).flatMap((verb): HiveCommand[] => [
    {
      words: ['migration', verb],
      calls: metadataMigrations[verb],
      flags: migrationName,
      each: 'migrationName',
    },
    { words: ['migration', verb, 'all'], calls: metadataMigrations[`${verb}-all`] },
  ]),
  { words: ['migration', 'status'], calls: get, flags: migrationName, each: 'migrationName' },
  { words: ['migration', 'status', 'all'], calls: list },
  ...(['conf', 'database', 'databases', 'indexes', 'partitions', 'table', 'tables'] as const).map(
    (verb): HiveCommand => ({
      words: ['show', verb],
      calls: metadataCatalogs[verb],
      flags: { catalogId: 'agent-name' },
    }),
  ),
]

const notByPort =
  'not supported, because the platform does not connect to agents on other hosts: agents connect to the platform with a token (docs/METADATA.md)'
const notBySsh = 'not supported, because nothing is installed on other hosts by SSH'

/** Flags of other tools that nothing here corresponds to, each with the reason. */
const hostFlags: Readonly<Record<string, string>> = {
  'host <host>': notByPort,
  'port <port>': notByPort,
  'no-ssl': notByPort,
  autodeploy: notBySsh,
  'ssh-user <user>': notBySsh,
  'ssh-key <path>': notBySsh,
  'ssh-port <port>': notBySsh,
  'use-sudo': notBySsh,
  'ignore-host-checking': notBySsh,
}

const connectFlags = ['host <host>', 'port <port>', 'ssl', 'timeout <ms>', 'user <user>']

const groups: Readonly<Record<string, string>> = {
  hive: 'Metadata migration with command names of other tools; same as metadata-catalogs, metadata-rules and metadata-migrations.',
  agent: 'Metadata catalogs.',
  'agent add': 'Add a catalog.',
  'agent configure': 'Change a catalog.',
  rule: 'Rules that select databases and tables.',
  migration: 'Metadata migrations.',
  show: 'Contents of a catalog.',
}

/** `gantry hive …` @param isNamed whether its commands are needed */
export function addHive(
  program: Command,
  run: RunContract,
  isNamed: (word: string) => boolean = () => true,
): void {
  const hive = group(program, 'hive', groups['hive']!)
  if (!isNamed(hive.name())) return
  hive.addHelpText(
    'after',
    examplesText([
      `${product} hive agent add hive --name warehouse --metastore-uris thrift://metastore.example:9083`,
      `${product} hive rule add --name sales --database-pattern sales --table-pattern '*'`,
      `${product} hive migration add --name lake --source warehouse --target there --rule-names sales --auto-start`,
      `${product} hive show tables --agent-name warehouse --database sales`,
    ]),
  )
  addConnect(hive)
  for (const { words, calls, flags, each, detailed, isOfHosts } of commands) {
    let parent = hive
    for (let depth = 1; depth < words.length; depth++) {
      const path = words.slice(0, depth)
      const name = path.at(-1)!
      parent =
        parent.commands.find((command) => command.name() === name) ??
        group(parent, name, groups[path.join(' ')]!)
    }
    const other = { words: ['hive', ...words], shape: byFlags(calls, flags) }
    const runs = each === undefined ? withOuter(run) : forEach(each, run)
    const command = addContractCommand(
      parent,
      calls,
      detailed === undefined ? runs : withDetails(detailed, runs),
      other,
    )
    if (detailed !== undefined) command.option('--detailed', `show ${detailed.join(', ')}`)
    if (isOfHosts) refuseFlags(command)
  }
}

/** Whoever looks for a shell to connect is told that there is none. */
function addConnect(hive: Command): void {
  const command = hive
    .command('connect')
    .summary('Not needed: each command connects automatically')
    .description(
      `There is no interactive shell. Each command finds the platform by its token, or by --server and --token-file.`,
    )
  for (const flag of connectFlags) command.addOption(new Option(`--${flag}`).hideHelp())
  command.action(() => {
    throw new GantryError(
      'UNSUPPORTED',
      '"connect" is not needed: each command finds the platform by its token, or by --server and --token-file; to test the connection, run "gantry info"',
    )
  })
}

/** Takes flags of other tools to say why they are not there. */
function refuseFlags(command: Command): void {
  const known = new Set(command.options.map((option) => option.long))
  for (const [flag, reason] of Object.entries(hostFlags)) {
    const option = new Option(`--${flag}`).hideHelp()
    if (known.has(option.long)) continue
    command.addOption(option)
    command.on(`option:${option.name()}`, () => {
      throw new GantryError('UNSUPPORTED', `${option.long}: ${reason}`)
    })
  }
}

/** Of `start all --once` the flag is read as one of `start`, which has it too. */
const withOuter =
  (run: RunContract): RunContract =>
  (contract, shape, given, command) => {
    const outer = shape.flags.flatMap((field): [Field, string][] => {
      const name = new Option(`--${field.flag}`).attributeName()
      const value: unknown = command.parent?.getOptionValue(name)
      return typeof value !== 'boolean' || given.has(field) ? [] : [[field, String(value)]]
    })
    return run(contract, shape, new Map([...given, ...outer]), command)
  }

/** Shows the first columns, or with --detailed all. */
const withDetails =
  (all: readonly string[], run: RunContract): RunContract =>
  (contract, shape, given, command) => {
    const columns = command.getOptionValue('detailed') === true ? all : all.slice(0, -1)
    return run({ ...contract, cli: { ...contract.cli, columns } }, shape, given, command)
  }

const group = (parent: Command, name: string, text: string): Command =>
  parent.command(name).summary(text.replace(/\.$/, '')).description(text).helpCommand(false)

/** Runs a command for each of several names, in order. */
const forEach =
  (name: string, run: RunContract): RunContract =>
  async (contract, shape, given, command) => {
    const field = [...given.keys()].find((one) => one.name === name)
    const text = field && given.get(field)
    if (field === undefined || typeof text !== 'string') return run(contract, shape, given, command)
    for (const one of text.split(','))
      await run(contract, shape, new Map([...given, [field, one.trim()]]), command)
  }

/** All fields as flags, some under other names. */
function byFlags(contract: Contract, others: Readonly<Record<string, string>> = {}): Shape {
  const { args, flags } = shapeOf(contract)
  const renamed = [...args, ...flags].map((field) => {
    const flag = others[field.name]
    if (flag !== undefined) return { ...field, flag }
    return field.name === 'fileSystemId' ? { ...field, otherFlag: 'filesystem-id' } : field
  })
  return { args: [], flags: renamed, takesSeveral: false }
}
