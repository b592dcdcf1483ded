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
  const program = new Command().exitOverride().configureOutput({ outputError: () => undefined })
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

/** The commands that people know, by their groups. */
const reference: Readonly<Record<string, readonly string[]>> = {
  'agent add': ['hive', 'glue', 'filesystem', 'azure', 'databricks', 'snowflake'],
  'agent configure': ['hive', 'glue', 'filesystem', 'azure', 'databricks', 'snowflake'],
  agent: ['check', 'delete', 'list', 'show', 'types'],
  rule: ['add', 'create', 'configure', 'delete', 'list', 'show'],
  migration: [
    ...['add', 'delete', 'list', 'show'],
    ...['start', 'stop', 'pause', 'resume', 'status'].flatMap((verb) => [verb, `${verb} all`]),
  ],
  show: ['conf', 'database', 'databases', 'indexes', 'partitions', 'table', 'tables'],
}

const commands: [line: string, contract: Contract, input: object][] = [
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
  [
    'hive agent add glue --name warehouse --glue-endpoint glue.eu-west-1.amazonaws.com --aws-region eu-west-1 --access-key a --secret-key b --glue-catalog-id 1 --credentials-provider SimpleAWSCredentialsProvider --glue-max-retries 1 --glue-max-connections 2 --glue-max-socket-timeout 3000 --glue-connection-timeout 4000 --default-fs-override s3a://lake',
    metadataCatalogs['create-glue'],
    {
      catalogId,
      glueEndpoint: 'glue.eu-west-1.amazonaws.com',
      awsRegion: 'eu-west-1',
      accessKey: 'a',
      secretKey: 'b',
      glueCatalogId: '1',
      credentialsProvider: 'SimpleAWSCredentialsProvider',
      glueMaxRetries: 1,
      glueMaxConnections: 2,
      glueMaxSocketTimeout: 3_000,
      glueConnectionTimeout: 4_000,
      defaultFsOverride: 's3a://lake',
    },
  ],
  [
    'hive agent configure glue --name warehouse --aws-region eu-west-2',
    metadataCatalogs['update-glue'],
    { catalogId, awsRegion: 'eu-west-2' },
  ],
  [
    'hive agent configure filesystem --name warehouse --root-folder /other',
    metadataCatalogs['update-filesystem'],
    { catalogId, rootFolder: '/other' },
  ],
  [
    'hive agent add azure --name warehouse --db-server-name sql.example --database-name hive --storage-account lake --container-name data --auth-method SQL_PASSWORD --database-user ada --database-password x --client-id 1 --root-folder / --hdi-version 4.0 --insecure --file-system-id data',
    metadataCatalogs['create-azure'],
    {
      catalogId,
      dbServerName: 'sql.example',
      databaseName: 'hive',
      storageAccount: 'lake',
      containerName: 'data',
      authMethod: 'SQL_PASSWORD',
      databaseUser: 'ada',
      databasePassword: 'x',
      clientId: '1',
      rootFolder: '/',
      hdiVersion: '4.0',
      insecure: true,
      fileSystemId: 'data',
    },
  ],
  [
    'hive agent configure azure --name warehouse --auth-method AD_MSI',
    metadataCatalogs['update-azure'],
    { catalogId, authMethod: 'AD_MSI' },
  ],
  [
    'hive agent add databricks --name warehouse --jdbc-server-hostname workspace.example --jdbc-port 443 --jdbc-http-path sql/1 --access-token x --fs-mount-point /mnt --convert-to-delta --no-delete-after-conversion --catalog main --default-fs-override dbfs:///mnt',
    metadataCatalogs['create-databricks'],
    {
      catalogId,
      jdbcServerHostname: 'workspace.example',
      jdbcPort: 443,
      jdbcHttpPath: 'sql/1',
      accessToken: 'x',
      fsMountPoint: '/mnt',
      convertToDelta: true,
      deleteAfterConversion: false,
      catalog: 'main',
      defaultFsOverride: 'dbfs:///mnt',
    },
  ],
  [
    'hive agent configure databricks --name warehouse --jdbc-http-path sql/2',
    metadataCatalogs['update-databricks'],
    { catalogId, jdbcHttpPath: 'sql/2' },
  ],
  [
    'hive agent add snowflake --name warehouse --account-identifier org-account --stage lake --warehouse compute --snowflake-auth-kind PrivateKey --user ada --stage-database one --stage-schema two --schema three --role four --password x --private-key-file /etc/key.p8',
    metadataCatalogs['create-snowflake'],
    {
      catalogId,
      accountIdentifier: 'org-account',
      stage: 'lake',
      warehouse: 'compute',
      snowflakeAuthKind: 'PrivateKey',
      user: 'ada',
      stageDatabase: 'one',
      stageSchema: 'two',
      schema: 'three',
      role: 'four',
      password: 'x',
      privateKeyFile: '/etc/key.p8',
    },
  ],
  [
    'hive agent configure snowflake --name warehouse --stage other',
    metadataCatalogs['update-snowflake'],
    { catalogId, stage: 'other' },
  ],
  ['hive agent check --name warehouse', metadataCatalogs['check-stored'], { catalogId }],
  ['hive agent delete --name warehouse', metadataCatalogs.delete, { catalogId }],
  [
    'hive agent list',
    { ...metadataCatalogs.list, cli: { ...metadataCatalogs.list.cli, columns: ['catalogId', 'kind'] } },
    {},
  ],
  ['hive agent list --detailed', metadataCatalogs.list, {}],
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
  [
    'hive show indexes --agent-name warehouse --database sales --table orders',
    metadataCatalogs.indexes,
    orders,
  ],
  [
    'hive show conf --agent-name warehouse --like hive.metastore.*',
    metadataCatalogs.conf,
    { catalogId, like: 'hive.metastore.*' },
  ],
  [
    'hive show conf --agent-name warehouse --parameter hive.metastore.uris',
    metadataCatalogs.conf,
    { catalogId, parameter: 'hive.metastore.uris' },
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
  ['hive migration start all --once', metadataMigrations['start-all'], { once: true }],
  ['hive migration status --name lake', metadataMigrations.get, { migrationName }],
  ['hive migration status all', metadataMigrations.list, {}],
]

test.each(commands)('gantry %s', async (line, contract, input) => {
  expect(await callOf(line)).toEqual({ contract, input })
})

test('no command is left out', () => {
  const tried = commands.map(([line]) => line.split(' --')[0])
  const known = Object.entries(reference).flatMap(([group, verbs]) =>
    verbs.map((verb) => `hive ${group} ${verb}`),
  )
  expect(known.filter((command) => !tried.includes(command))).toEqual([])
})

test.each([
  ['--host elsewhere.example', /--host: not supported, because the platform does not connect to agents/],
  ['--port 5552', /--port: not supported, because the platform does not connect to agents/],
  ['--no-ssl', /--no-ssl: not supported, because the platform does not connect to agents/],
  ['--autodeploy', /--autodeploy: not supported, because nothing is installed/],
  ['--ssh-user ada', /--ssh-user: not supported, because nothing is installed/],
  ['--ssh-key /etc/key', /--ssh-key: not supported, because nothing is installed/],
  ['--ssh-port 22', /--ssh-port: not supported, because nothing is installed/],
  ['--use-sudo', /--use-sudo: not supported, because nothing is installed/],
  ['--ignore-host-checking', /--ignore-host-checking: not supported, because nothing is installed/],
])('an agent on another host, %s, is refused with the reason', async (flag, reason) => {
  await expect(callsOf(`hive agent add glue --name warehouse ${flag}`)).rejects.toThrow(reason)
})

test('there is no shell that is connected', async () => {
  const connect = 'hive connect --host localhost --port 6780 --ssl --timeout 300000 --user ada'
  await expect(callsOf(connect)).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringContaining('--server'),
  })
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
    [['hive'], ['agent', 'connect', 'rule', 'migration', 'show']],
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
      ['conf', 'database', 'databases', 'indexes', 'partitions', 'table', 'tables'],
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
