import { afterAll, beforeAll, expect } from 'vitest'
import { agentKeys } from '../../../subjects/migrations/agents.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { metadataMigrations, type MetadataMigration } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import { AgentChild } from '../../support/agent-child.ts'
import { plainStorage } from '../../support/catalog-conformance.ts'
import { metastoreTest, noMetastore } from '../../support/hive-metastore.ts'
import { startTwoMetastores, type TwoMetastores } from '../../support/two-metastores.ts'
import { until } from '../../support/until.ts'

/** A whole platform that reaches one of two metastores through a `gantry agent --catalogs`. */
const [from, to] = ['3.1.3', '4.0.1'] as const
const missing = noMetastore(from) ?? noMetastore(to)
const signal = new AbortController().signal
/** Two processes of the agent start in it, and a metastore that is busy takes seconds for each answer. */
const patienceMs = 240_000
let both: TwoMetastores
if (missing === undefined) {
  beforeAll(async () => {
    both = await startTwoMetastores(from, to)
  })
  afterAll(() => both?.[Symbol.asyncDispose]())
}

const table = (name: string) => ({
  database: 'far',
  name,
  type: 'EXTERNAL_TABLE',
  columns: [{ name: 'id', type: 'bigint' }],
  partitionKeys: [{ name: 'day', type: 'string' }],
  storage: plainStorage(`file:${both.lake}/source/far/${name}`),
  parameters: { EXTERNAL: 'TRUE' },
})
const day = (name: string, value: string) => ({
  values: [value],
  columns: [{ name: 'id', type: 'bigint' }],
  storage: plainStorage(`file:${both.lake}/source/far/${name}/day=${value}`),
  parameters: {},
})

metastoreTest(
  from,
  'a metastore that only an agent reaches is migrated live, over the death of the agent',
  async () => {
    const { platform, source, target, here } = both
    const { token } = await platform.call(agentKeys.register, { name: 'edge' })
    const start = () => new AgentChild(token, ['--catalogs'])
    const update = () => platform.call(metadataCatalogs['update-hive'], { catalogId: 'here', agent: 'edge' })
    await expect(update()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/agent edge does not serve catalogs now.*gantry agent --catalogs/),
    })
    let child = start()
    try {
      await until('the agent is there', () =>
        update().then(
          () => true,
          () => false,
        ),
      )
      expect(await platform.call(metadataCatalogs.get, { catalogId: 'here' })).toMatchObject({
        properties: { agent: 'edge', metastoreUris: here.options.metastoreUris },
      })
      const { ok, checks } = await platform.call(metadataCatalogs['check-stored'], { catalogId: 'here' })
      expect(checks.filter(({ result }) => result === 'no')).toEqual([])
      expect(ok).toBe(true)

      const { writer } = source
      await writer.createDatabase(
        { name: 'far', location: `file:${both.lake}/source/far`, parameters: {} },
        signal,
      )
      await writer.createTable(table('orders'), signal)
      await writer.addPartitions(
        { database: 'far', name: 'orders' },
        ['1', '2'].map((one) => day('orders', one)),
        signal,
      )
      const orders = { database: 'far', name: 'orders' }
      const read = {
        principal: { name: 'clerks', type: 'role' },
        privilege: 'SELECT',
        grantOption: false,
      } as const
      await writer.privileges!.roles!.create('clerks', signal)
      await writer.privileges!.roles!.add('clerks', { name: 'ada', type: 'user' }, signal)
      await writer.privileges!.grant(orders, [read], signal)
      await platform.call(metadataRules.create, {
        ruleName: 'far',
        databasePattern: 'far',
        tablePattern: '*',
      })
      await platform.call(metadataMigrations.create, {
        migrationName: 'far',
        source: 'here',
        target: 'there',
        ruleNames: ['far'],
        privileges: true,
        autoStart: true,
      })
      const get = (): Promise<MetadataMigration> =>
        platform.call(metadataMigrations.get, { migrationName: 'far' })
      const daysOf = async (name: string) => {
        if ((await target.table('far', name, signal)) === undefined) return undefined
        return target.partitionNames({ database: 'far', name }, signal)
      }
      await until('the table arrives', async () => (await daysOf('orders'))?.length === 2)
      await until('its privileges arrive', async () => {
        const there = await target.privileges.of(orders, signal)
        return there.some(({ principal, privilege }) => principal.name === 'clerks' && privilege === 'SELECT')
      })
      expect(await target.privileges.members('clerks', signal)).toMatchObject([{ name: 'ada' }])
      await until('changes are followed', async () => (await get()).changeDetection === 'events')

      child.kill('SIGKILL')
      await child.exitCode()
      await writer.addPartitions({ database: 'far', name: 'orders' }, [day('orders', '3')], signal)
      await writer.createTable(table('later'), signal)
      const waiting = await until('the migration says what it waits for', async () => {
        const its = await get()
        return its.reason?.includes('agent edge does not serve catalogs now') && its
      })
      expect(waiting).toMatchObject({
        state: 'RUNNING',
        reason: expect.stringContaining('gantry agent --catalogs'),
      })

      child = start()
      await until('changes arrive again', async () => (await daysOf('orders'))?.length === 3)
      await until('the later table arrives', async () => (await daysOf('later')) !== undefined)
      await until('nothing is waited for', async () => (await get()).reason === undefined)
      await platform.call(metadataMigrations.stop, { migrationName: 'far' })
    } finally {
      await child[Symbol.asyncDispose]()
    }
  },
  patienceMs,
)
