import type { Command } from 'commander'
import type { Contract } from '../../subjects/kit/contract.ts'
import { product } from '../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { type CatalogKind, catalogKinds } from '../../subjects/metadata/kinds.ts'
import { examplesText } from '../help.ts'
import { type Shape, shapeOf } from '../output/shape.ts'
import { addContractCommand, type RunContract } from './contract-command.ts'

/** A command by the words that people know, over a contract that does the work. */
interface HiveCommand {
  /** After `gantry hive`. */
  readonly words: readonly [string, ...string[]]
  readonly calls: Contract
  /** Flags by other names than those of their fields. */
  readonly flags?: Readonly<Record<string, string>>
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
    { words: ['agent', 'add', kind], calls: metadataCatalogs[`create-${kind}`], flags: agentName },
    { words: ['agent', 'configure', kind], calls: metadataCatalogs[`update-${kind}`], flags: agentName },
  ]),
  { words: ['agent', 'check'], calls: metadataCatalogs['check-stored'], flags: agentName },
  { words: ['agent', 'delete'], calls: metadataCatalogs.delete, flags: agentName },
  { words: ['agent', 'list'], calls: metadataCatalogs.list },
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
  ...(['database', 'databases', 'partitions', 'table', 'tables'] as const).map((verb): HiveCommand => ({
    words: ['show', verb],
    calls: metadataCatalogs[verb],
    flags: { catalogId: 'agent-name' },
  })),
]

const groups: Readonly<Record<string, string>> = {
  hive: 'Metadata of data lakes, by the words of other tools; the same as metadata-catalogs, metadata-rules and metadata-migrations.',
  agent: 'Catalogs of metadata.',
  'agent add': 'Add a catalog.',
  'agent configure': 'Change a catalog.',
  rule: 'Which databases and tables migrations are about.',
  migration: 'Migrations of metadata.',
  show: 'What is in a catalog.',
}

/** `gantry hive …` */
export function addHive(program: Command, run: RunContract): void {
  const hive = group(program, 'hive', groups['hive']!)
  hive.addHelpText(
    'after',
    examplesText([
      `${product} hive agent add hive --name warehouse --metastore-uris thrift://metastore.example:9083`,
      `${product} hive rule add --name sales --database-pattern sales --table-pattern '*'`,
      `${product} hive migration add --name lake --source warehouse --target there --rule-names sales --auto-start`,
      `${product} hive show tables --agent-name warehouse --database sales`,
    ]),
  )
  for (const { words, calls, flags, each } of commands) {
    let parent = hive
    for (let depth = 1; depth < words.length; depth++) {
      const path = words.slice(0, depth)
      const name = path.at(-1)!
      parent =
        parent.commands.find((command) => command.name() === name) ??
        group(parent, name, groups[path.join(' ')]!)
    }
    const other = { words: ['hive', ...words], shape: byFlags(calls, flags) }
    addContractCommand(parent, calls, each === undefined ? run : forEach(each, run), other)
  }
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
  return { args: [], flags: renamed }
}
