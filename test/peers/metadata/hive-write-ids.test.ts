import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type Gate } from '../../../services/metadata/migrations/reconcile/gates.ts'
import {
  type MetadataWork,
  type TableWork,
  work,
} from '../../../services/metadata/migrations/reconcile/questions.ts'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import { type HiveMetastore, metastoreTest, startMetastore } from '../../support/hive-metastore.ts'
import { plainStorage } from '../../support/catalog-conformance.ts'
import { MetastoreWriter } from '../../support/metastore-writer.ts'

/** Each id takes a metastore three calls, and 100 ms where it shares a core. */
const patienceMs = 240_000
const never = new AbortController().signal
const openOf = ({ options }: HiveMetastore) => openCatalog({ kind: 'hive', options })
const table = { database: 'default', name: 'orders' }

for (const release of ['3.1.3', '4.0.1'] as const)
  metastoreTest(
    release,
    `Hive ${release}: write ids of a transactional table are told and set`,
    async () => {
      await using metastore = await startMetastore(release)
      using writer = await MetastoreWriter.open(metastore.address)
      const catalog = await openOf(metastore)
      const location = `${(await catalog.database('default', never))!.location}/orders`
      const parameters = { transactional: 'true', transactional_properties: 'insert_only' }
      const [writeIds, write] = [catalog.writeIds!, catalog.writer!.writeIds!]
      const told = async () => (await writeIds.of([table], never))?.[0]
      for (const name of ['orders', 'copy'])
        await catalog.writer!.createTable(
          {
            ...table,
            name,
            type: 'MANAGED_TABLE',
            columns: [{ name: 'id', type: 'int' }],
            partitionKeys: [],
            storage: plainStorage(location.replace(/orders$/, name)),
            parameters,
          },
          never,
        )
      expect(await told()).toEqual({ highest: 0, open: [], aborted: [] })
      for (const end of ['commit', 'abort', 'commit', 'open', 'commit'] as const)
        await writer.write(table, end)
      expect(await told()).toEqual({ highest: 5, open: [4], aborted: [2] })
      const copy = { ...table, name: 'copy' }
      const ofCopy = async () => (await writeIds.of([copy], never))?.[0]
      await write.put(copy, { highest: 0, aborted: [] }, never)
      expect(await ofCopy()).toEqual({ highest: 0, open: [], aborted: [] })
      await write.put(copy, { highest: 3, aborted: [2] }, never)
      expect(await ofCopy()).toEqual({ highest: 3, open: [], aborted: [2] })
      await write.put(copy, { highest: 3, aborted: [2] }, never)
      await write.put(copy, { highest: 8, aborted: [2, 8] }, never)
      expect(await ofCopy()).toEqual({ highest: 8, open: [], aborted: [2, 8] })
      // Again, as a process does that was ended before it was stored.
      await write.put(copy, { highest: 8, aborted: [2, 8] }, never)
      expect(await ofCopy()).toEqual({ highest: 8, open: [], aborted: [2, 8] })
      await write.put(copy, { highest: 24, aborted: [2, 8] }, never)
      expect(await ofCopy()).toEqual({ highest: 24, open: [], aborted: [2, 8] })
      expect(await writer.write(copy, 'commit')).toBe(25)
      await expect(write.put(copy, { highest: 24, aborted: [2, 8] }, never)).rejects.toThrow(
        'another program has written to the table',
      )
      // Files stay, and ids begin anew.
      const file = join(fileURLToPath(location), 'rows')
      writeFileSync(file, 'rows')
      const before = (await catalog.table(table.database, table.name, never))!
      await catalog.writer!.dropTable(table, never)
      expect(await catalog.tables(table.database, never)).toMatchObject([{ name: 'copy' }])
      expect(existsSync(file)).toBe(true)
      await catalog.writer!.createTable(before, never)
      expect(await told()).toEqual({ highest: 0, open: [], aborted: [] })
      catalog.close()
    },
    patienceMs,
  )

metastoreTest(
  '3.1.3',
  'writes become visible at the target when their files are there',
  async () => {
    await using source = await startMetastore('3.1.3')
    await using target = await startMetastore('4.0.1')
    using writer = await MetastoreWriter.open(source.address)
    const [from, to] = await Promise.all([openOf(source), openOf(target)])
    const location = `${(await from.database('default', never))!.location}/orders`
    await from.writer!.createTable(
      {
        ...table,
        type: 'MANAGED_TABLE',
        columns: [{ name: 'id', type: 'int' }],
        partitionKeys: [],
        storage: plainStorage(location),
        parameters: { transactional: 'true', transactional_properties: 'insert_only' },
      },
      never,
    )
    const root = 'file:/'
    const sides = {
      source: { kind: 'hive', options: source.options },
      target: { kind: 'hive', options: target.options },
      locations: { from: [root], to: root, mappings: [] },
      statistics: 'none',
      privileges: 'none',
      onConflict: 'report',
    } as const
    let next: TableWork = { name: table.name, known: { isNoted: true }, sinceMs: Date.now() }
    const look = async (arrivedUntilMs: number) => {
      const gate: Gate = { migrationId: 'files', path: '/', state: 'RUNNING', arrivedUntilMs }
      const { database } = table
      const asked = {
        kind: 'bring-tables',
        sides,
        database,
        tables: [next],
        gates: [gate],
        maxDrops: 1,
      }
      const answer = (await work(asked as never)) as MetadataWork['bring-tables']['answer']
      const [outcome] = answer.outcomes
      const { writeIds, ...rest } = outcome as { writeIds?: TableWork['writeIds'] }
      const known = outcome !== undefined && 'settled' in outcome ? outcome.settled : next.known
      next = { ...next, known: { ...known, isNoted: true }, writeIds: undefined as never }
      if (writeIds !== undefined) next = { ...next, writeIds }
      return { ...rest, writeIds }
    }
    const there = async () => (await to.writeIds!.of([table], never))?.[0]
    for (const end of ['commit', 'abort', 'commit'] as const) await writer.write(table, end)
    expect(await look(0)).toMatchObject({ result: 'waiting', writeIds: { highest: 3, aborted: [2] } })
    const before = Date.now()
    await writer.write(table, 'commit')
    const open = await writer.openWrite(table)
    // What was written since is not known to have arrived.
    expect(await look(before)).toMatchObject({ result: 'created', written: { upTo: 3 }, writeIds: undefined })
    expect(await there()).toEqual({ highest: 3, open: [], aborted: [2] })
    expect(await look(before)).toMatchObject({
      result: 'same',
      waiting: 'its writes up to 4 are not visible at the target yet: they are set next',
      isOfWrites: true,
      writeIds: { highest: 4 },
    })
    expect(await look(before)).toMatchObject({
      result: 'same',
      waiting: expect.stringContaining('its files are copied by the migration files'),
      isOfWrites: true,
    })
    expect(await there()).toMatchObject({ highest: 3 })
    expect(await look(Date.now())).toMatchObject({ result: 'same', written: { upTo: 4 } })
    expect(await there()).toMatchObject({ highest: 4 })
    await writer.endTransaction(open, 'commit')
    expect(await look(Date.now())).toMatchObject({ result: 'same', writeIds: { highest: 5 } })
    expect(await look(Date.now())).toMatchObject({ result: 'same', written: { upTo: 5 } })
    expect(await there()).toEqual({ highest: 5, open: [], aborted: [2] })
    from.close()
    to.close()
  },
  patienceMs,
)
