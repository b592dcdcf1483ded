import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addHive } from '../../../cli/commands/hive.ts'
import { inputOf } from '../../../cli/output/values.ts'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import { gantry } from '../support.ts'

const sources = {
  cwd: '.',
  terminal: { err: () => undefined },
  readStdin: () => Promise.reject(new Error('nobody asked for stdin')),
}

/** What a command line after `gantry` calls. */
async function callOf(line: string): Promise<{ contract: Contract; input: object }> {
  return (await callsOf(line))[0] ?? expect.fail('no command ran')
}

async function callsOf(line: string): Promise<{ contract: Contract; input: object }[]> {
  const read: { contract: Contract; input: object }[] = []
  const program = new Command().exitOverride()
  addHive(program, async (contract, shape, given) => {
    read.push({ contract, input: await inputOf(contract, shape, given, sources) })
  })
  await program.parseAsync(line.split(' '), { from: 'user' })
  return read
}

const catalogId = 'warehouse'
const metastoreUris = 'thrift://metastore.example:9083'
const ruleName = 'sales'
const migrationName = 'lake'
const patterns = { databasePattern: 'sales*', tablePattern: '*' }
const orders = { catalogId, database: 'sales', table: 'orders' }

test.each([
  [
    `hive agent add hive --name warehouse --metastore-uris ${metastoreUris} --user ada --ssl`,
    metadataCatalogs['create-hive'],
    { catalogId, metastoreUris, user: 'ada', ssl: true },
  ],
  [
    'hive agent configure hive --name warehouse --no-framed',
    metadataCatalogs['update-hive'],
    { catalogId, framed: false },
  ],
  ...['filesystem-id', 'file-system-id'].map((flag): [string, Contract, object] => [
    `hive agent add filesystem --name warehouse --${flag} lake --root-folder /metadata`,
    metadataCatalogs['create-filesystem'],
    { catalogId, fileSystemId: 'lake', rootFolder: '/metadata' },
  ]),
  ['hive agent check --name warehouse', metadataCatalogs['check-stored'], { catalogId }],
  ['hive agent delete --name warehouse', metadataCatalogs.delete, { catalogId }],
  ['hive agent list', metadataCatalogs.list, {}],
  ['hive agent show --name warehouse', metadataCatalogs.get, { catalogId }],
  ['hive agent types', metadataCatalogs.kinds, {}],
  [
    'hive show database --agent-name warehouse --database sales',
    metadataCatalogs.database,
    { catalogId, database: 'sales' },
  ],
  [
    'hive show databases --agent-name warehouse --like s*',
    metadataCatalogs.databases,
    { catalogId, like: 's*' },
  ],
  [
    'hive show tables --agent-name warehouse --database sales --like o*|r*',
    metadataCatalogs.tables,
    { catalogId, database: 'sales', like: 'o*|r*' },
  ],
  ['hive show table --agent-name warehouse --database sales --table orders', metadataCatalogs.table, orders],
  [
    'hive show partitions --agent-name warehouse --database sales --table orders',
    metadataCatalogs.partitions,
    orders,
  ],
  ...['add', 'create'].map((verb): [string, Contract, object] => [
    `hive rule ${verb} --name sales --database-pattern sales* --table-pattern *`,
    metadataRules.create,
    { ruleName, ...patterns },
  ]),
  [
    'hive rule configure --name sales --table-pattern *',
    metadataRules.update,
    { ruleName, tablePattern: '*' },
  ],
  ['hive rule delete --name sales', metadataRules.delete, { ruleName }],
  ['hive rule list', metadataRules.list, {}],
  ['hive rule show --name sales', metadataRules.get, { ruleName }],
  ['hive rule test --table sales.orders', metadataRules.test, { table: 'sales.orders' }],
  [
    'hive migration add --name lake --source a --target b --rule-names one,two --auto-start --once',
    metadataMigrations.create,
    { migrationName, source: 'a', target: 'b', ruleNames: ['one', 'two'], autoStart: true, once: true },
  ],
  [
    'hive migration delete --name lake --force-stop',
    metadataMigrations.delete,
    { migrationName, forceStop: true },
  ],
  ['hive migration list', metadataMigrations.list, {}],
  ['hive migration show --name lake', metadataMigrations.get, { migrationName }],
  [
    'hive migration objects --name lake --state failed',
    metadataMigrations.objects,
    { migrationName, state: 'failed' },
  ],
  ['hive migration start --name lake --once', metadataMigrations.start, { migrationName, once: true }],
  ...(['start', 'stop', 'pause', 'resume'] as const).flatMap((verb): [string, Contract, object][] => [
    [`hive migration ${verb} --name lake`, metadataMigrations[verb], { migrationName }],
    [`hive migration ${verb} all`, metadataMigrations[`${verb}-all`], {}],
  ]),
  ['hive migration status --name lake', metadataMigrations.get, { migrationName }],
  ['hive migration status all', metadataMigrations.list, {}],
])('gantry %s', async (line, contract, input) => {
  expect(await callOf(line)).toEqual({ contract, input })
})

test('a command to several migrations is one for each, in their order', async () => {
  expect(await callsOf('hive migration stop --name one,two')).toEqual(
    ['one', 'two'].map((name) => ({
      contract: metadataMigrations.stop,
      input: { migrationName: name },
    })),
  )
})

test('help leads from the group to each command', async () => {
  const pages = [
    [['hive'], ['agent', 'rule', 'migration', 'show']],
    [
      ['hive', 'agent'],
      ['add', 'configure', 'check', 'delete', 'list', 'show', 'types'],
    ],
    [
      ['hive', 'agent', 'add'],
      ['hive', 'filesystem'],
    ],
    [
      ['hive', 'show'],
      ['database', 'databases', 'partitions', 'table', 'tables'],
    ],
  ] as const
  for (const [words, below] of pages) {
    const { code, out } = await gantry([...words, '--help'])
    expect(code).toBe(0)
    for (const word of below) expect(out, words.join(' ')).toMatch(new RegExp(`^  ${word} `, 'm'))
  }
  const { out } = await gantry(['hive', 'show', 'tables', '--help'])
  expect(out).toContain('Usage: gantry hive show tables --agent-name <name> --database <database> [options]')
  expect(out).toContain('$ gantry hive show tables --agent-name')
})
