import type { Command } from 'commander'
import type { Contract } from '../../subjects/kit/contract.ts'
import { product } from '../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds } from '../../subjects/metadata/kinds.ts'
import { examplesText } from '../help.ts'
import { type Shape, shapeOf } from '../output/shape.ts'
import { addContractCommand, type RunContract } from './contract-command.ts'

/** A command by the words that people know, over a contract that does the work. */
interface HiveCommand {
  /** After `gantry hive`. */
  readonly words: readonly [string, ...string[]]
  readonly calls: Contract
  /** Flag of the catalog, which people call an agent. */
  readonly agentFlag?: string
}

/** Flag of `agent` commands; elsewhere an agent is one thing of several. */
const nameFlag = 'name'

const kinds = Object.keys(catalogKinds) as CatalogKind[]

const commands: readonly HiveCommand[] = [
  ...kinds.flatMap((kind): HiveCommand[] => [
    { words: ['agent', 'add', kind], calls: metadataCatalogs[`create-${kind}`], agentFlag: nameFlag },
    { words: ['agent', 'configure', kind], calls: metadataCatalogs[`update-${kind}`], agentFlag: nameFlag },
  ]),
  { words: ['agent', 'check'], calls: metadataCatalogs['check-stored'], agentFlag: nameFlag },
  { words: ['agent', 'delete'], calls: metadataCatalogs.delete, agentFlag: nameFlag },
  { words: ['agent', 'list'], calls: metadataCatalogs.list },
  { words: ['agent', 'show'], calls: metadataCatalogs.get, agentFlag: nameFlag },
  { words: ['agent', 'types'], calls: metadataCatalogs.kinds },
  ...(['database', 'databases', 'partitions', 'table', 'tables'] as const).map((verb): HiveCommand => ({
    words: ['show', verb],
    calls: metadataCatalogs[verb],
    agentFlag: 'agent-name',
  })),
]

const groups: Readonly<Record<string, string>> = {
  hive: 'Metadata of data lakes, by the words of other tools; the same as metadata-catalogs.',
  agent: 'Catalogs of metadata.',
  'agent add': 'Add a catalog.',
  'agent configure': 'Change a catalog.',
  show: 'What is in a catalog.',
}

/** `gantry hive …` */
export function addHive(program: Command, run: RunContract): void {
  const hive = group(program, 'hive', groups['hive']!)
  hive.addHelpText(
    'after',
    examplesText([
      `${product} hive agent add hive --name warehouse --metastore-uris thrift://metastore.example:9083`,
      `${product} hive show tables --agent-name warehouse --database sales`,
    ]),
  )
  for (const { words, calls, agentFlag } of commands) {
    let parent = hive
    for (let depth = 1; depth < words.length; depth++) {
      const path = words.slice(0, depth)
      const name = path.at(-1)!
      parent =
        parent.commands.find((command) => command.name() === name) ??
        group(parent, name, groups[path.join(' ')]!)
    }
    addContractCommand(parent, calls, run, { words: ['hive', ...words], shape: byFlags(calls, agentFlag) })
  }
}

const group = (parent: Command, name: string, text: string): Command =>
  parent.command(name).summary(text.replace(/\.$/, '')).description(text).helpCommand(false)

/** All fields as flags, the catalog under the name of an agent. */
function byFlags(contract: Contract, agentFlag: string | undefined): Shape {
  const { args, flags } = shapeOf(contract)
  const renamed = [...args, ...flags].map((field) =>
    field.name === 'catalogId' && agentFlag !== undefined
      ? { ...field, flag: agentFlag }
      : field.name === 'fileSystemId'
        ? { ...field, otherFlag: 'filesystem-id' }
        : field,
  )
  return { args: [], flags: renamed }
}
