import { chmodSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import { ActiveMigration } from '../../../../services/migrations/execution/active.ts'
import { Assignments } from '../../../../services/migrations/assignments/assignments.ts'
import { AgentRegistry } from '../../../../services/migrations/assignments/agent-registry.ts'
import { Limits } from '../../../../services/bandwidth/limits.ts'
import { deepItem } from '../../../../services/engine/items/item-decode.ts'
import { startRegion } from '../../../../services/engine/items/items.ts'
import { type ChildBatch, Mover, type MoveSpec } from '../../../../services/engine/mover.ts'
import { openFailures } from '../../../../services/migrations/failures/failures.ts'
import { InFlightProgress } from '../../../../services/migrations/progress/in-flight-progress.ts'
import type { FrontierBounds } from '../../../../services/migrations/execution/frontier.ts'
import { Progress } from '../../../../services/migrations/progress/progress.ts'
import { startTestBroker, type TestBroker } from '../../../support/broker.ts'
import { compareTrees, walkTree } from '../../../support/compare-trees.ts'
import { createFolder } from '../../../support/migrations.ts'
import { testLog } from '../../../support/platform.ts'
import { localSpec } from '../../engine/local-spec.ts'

let broker: TestBroker
let connection: NatsConnection
const mover = new Mover({ threads: 2, log: { error: () => undefined } })
beforeAll(async () => {
  broker = await startTestBroker()
  connection = await broker.connect('PLATFORM')
})
afterAll(async () => {
  await mover.close()
  await broker[Symbol.asyncDispose]()
})

/** Some 500 folders on three levels, with a file in each of the last, all with modes and times of their own. */
function makeFolders(root: string): void {
  for (let index = 0; index < 400; index++) {
    const path = join(root, `ü ${index % 8}`, `${index % 40}`, `${index}`)
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'file'), `${index}`)
    chmodSync(path, 0o700 + (index % 8))
  }
  for (const [index, { path, stat }] of [...walkTree(root)].toReversed().entries())
    if (stat.isDirectory()) utimesSync(join(root, path.toString()), index, 1e9 + index)
}

/** Runs a migration with its queue, alone; tells what it came to and the largest sequence of an item. */
async function migrate(spec: MoveSpec, frontier?: FrontierBounds) {
  const workId = crypto.randomUUID()
  const [progress, failures, agentRegistry] = await Promise.all([
    Progress.open(connection),
    openFailures(connection, 2 ** 24),
    AgentRegistry.open(connection, { inFlight: new InFlightProgress(), log: testLog }),
  ])
  const active = await ActiveMigration.open({
    connection,
    workId,
    migrationId: 'm',
    target: 'target',
    movedBy: 'SERVER',
    agents: new Assignments({ agentRegistry, limits: new Limits(), log: testLog }),
    spec,
    mover,
    threads: 2,
    progress,
    onCount: () => undefined,
    failures,
    inFlight: new InFlightProgress(),
    log: testLog,
    changes: undefined,
    takeBack: false,
    signal: new AbortController().signal,
    ...(frontier !== undefined && { frontier }),
  })
  await active.seed()
  expect(await active.run()).toBe(true)
  const counts = (await progress.totals()).get(workId)
  return { counts, failed: await failures.count(workId) }
}

const countsOf = ({ counts }: Awaited<ReturnType<typeof migrate>>) => {
  const { filesScanned, filesMigrated, bytesMigrated, foldersScanned, foldersMigrated, linksMigrated } =
    counts ?? {}
  return { filesScanned, filesMigrated, bytesMigrated, foldersScanned, foldersMigrated, linksMigrated }
}

test('with hardly any room for folders in the queue all arrives, is counted once, and folders have their times', async () => {
  using folder = createFolder('from', 'to', 'other')
  makeFolders(folder.from)
  const usual = await migrate(localSpec({ from: folder.from, to: folder.other }))
  const bounded = await migrate(localSpec(folder), { regions: 1, folders: 1 })
  expect(compareTrees(folder.from, folder.to)).toEqual([])
  expect([countsOf(bounded), bounded.failed]).toEqual([countsOf(usual), usual.failed])
})

test('a deep item that comes again makes the same items', async () => {
  using folder = createFolder('from', 'to')
  makeFolders(folder.from)
  const made = async () => {
    const all: ChildBatch = { regions: [], transfers: [], folders: [] }
    const publish = async ({ regions, transfers, folders }: ChildBatch) => {
      all.regions.push(...regions)
      all.transfers.push(...transfers)
      all.folders.push(...folders)
    }
    await mover.scan(localSpec(folder), deepItem(startRegion()), publish, new AbortController().signal)
    return all
  }
  const first = await made()
  expect([first.regions.length, first.transfers.length > 0, first.folders.length > 5]).toEqual([
    0,
    true,
    true,
  ])
  expect(await made()).toEqual(first)
})

test('what a rule or the source leaves out is not touched when all folders get their times', async () => {
  using folder = createFolder('from', 'to')
  const old = new Date('2001-01-01T00:00:00Z')
  const theirs = new Date('2002-02-02T00:00:00Z')
  for (let index = 0; index < 200; index++) {
    const path = join(folder.from, `${index % 10}`, `${index}`)
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'file'), 'content')
  }
  // At the target somebody else's: a folder that the source does not have, and a file where it has a folder.
  mkdirSync(join(folder.to, 'theirs'))
  utimesSync(join(folder.to, 'theirs'), theirs, theirs)
  mkdirSync(join(folder.to, '0'))
  writeFileSync(join(folder.to, '0', '10'), 'a file')
  utimesSync(join(folder.to, '0', '10'), theirs, theirs)
  for (const { path, stat } of [...walkTree(folder.from)].toReversed())
    if (stat.isDirectory()) utimesSync(join(folder.from, path.toString()), old, old)
  const { failed } = await migrate(localSpec(folder), { regions: 1, folders: 1 })
  expect(failed).toBeGreaterThan(0)
  const times = [...walkTree(folder.to)]
    .filter(({ path, stat }) => stat.isDirectory() || path.toString() === '0/10')
    .map(({ path, stat }) => [path.toString(), stat.mtimeMs] as const)
  const others = times.filter(([, ms]) => ms !== BigInt(old.getTime()))
  const untouched = BigInt(theirs.getTime())
  expect(new Map(others)).toEqual(
    new Map([
      ['0/10', untouched],
      ['theirs', untouched],
    ]),
  )
})
