import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import { createSealedBox } from '../../../../broker/common/sealed-box.ts'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { agentApiHandlers } from '../../../../services/migrations/agents/agent-api.ts'
import { hasWitness, witnessOf } from '../../../../services/drivers/local/witness.ts'
import {
  bytesOfMigration,
  fingerprintOf,
  migrationOfBytes,
  sentSpec,
} from '../../../../services/migrations/assignments/spec-bytes.ts'
import { type AssignableWork, Assignments } from '../../../../services/migrations/assignments/assignments.ts'
import { ActiveMigration } from '../../../../services/migrations/execution/active.ts'
import { ProgressLedger } from '../../../../services/migrations/progress/progress-ledger.ts'
import { Progress } from '../../../../services/migrations/progress/progress.ts'
import { until } from '../../../support/until.ts'
import {
  type LiveAgent,
  maxSeenOfKey,
  maxDismissed,
  type Report,
  AgentRegistry,
} from '../../../../services/migrations/assignments/agent-registry.ts'
import { maxAgentsOfKey } from '../../../../subjects/migrations/agent-work.ts'
import { Limits } from '../../../../services/bandwidth/limits.ts'
import { idOf, noPolicy, openPolicies, type Place } from '../../../../services/bandwidth/policies.ts'
import { packRules } from '../../../../services/engine/run/rules.ts'
import { isShared } from '../../../../services/migrations/assignments/shares.ts'
import { MovedSoFar, Throughput } from '../../../../services/migrations/assignments/throughput.ts'
import { movedOf, noCounts } from '../../../../services/engine/run/counts.ts'
import { openFailures } from '../../../../services/migrations/failures/failures.ts'
import { MeterView } from '../../../../services/engine/run/meter.ts'
import { InFlightProgress } from '../../../../services/migrations/progress/in-flight-progress.ts'
import { agentProtocol } from '../../../../subjects/migrations/agent-work.ts'
import { startTestBroker } from '../../../support/broker.ts'
import { recordingLog } from '../../../support/log.ts'
import { createFolder } from '../../../support/migrations.ts'

/** The agents of a platform, of which nothing is moved. */
async function openRegistry(connection: NatsConnection) {
  const { log } = recordingLog()
  const inFlight = new InFlightProgress(() => undefined)
  return { log, agentRegistry: await AgentRegistry.open(connection, { log, inFlight }) }
}

test('a folder is known again, empty, as it is, and while much happens in it', () => {
  using folder = createFolder('one', 'two')
  const empty = witnessOf(folder.one)
  expect(hasWitness(folder.one, empty)).toBe(true)
  expect(hasWitness(folder.two, empty)).toBe(false)
  writeFileSync(join(folder.one, 'a'), 'a')
  const witness = witnessOf(folder.one)
  writeFileSync(join(folder.one, 'b'), 'b')
  expect(hasWitness(folder.one, witness)).toBe(true)
  // Where files are being put all the time, nothing is as it was a moment ago.
  utimesSync(join(folder.one, 'a'), 1, 1)
  expect(hasWitness(folder.one, witness)).toBe(true)
})

test('another folder at the same path is none, even with the same names in it', () => {
  using folder = createFolder('data')
  writeFileSync(join(folder.data, 'a'), 'a')
  const witness = witnessOf(folder.data)
  renameSync(folder.data, join(folder.root, 'before'))
  mkdirSync(folder.data)
  writeFileSync(join(folder.data, 'a'), 'a')
  expect(hasWitness(folder.data, witness)).toBe(false)
})

test.each([
  ['/data', ['/data'], true],
  ['/data/a', ['/x', '/data'], true],
  ['/database', ['/data'], false],
  ['/', ['/data'], false],
  ['/data', ['/'], true],
  ['/data', [], false],
])('%s is within %j: %s', (path, shares, expected) => {
  expect(isShared(path, shares)).toBe(expected)
})

test('what is sealed opens for its recipient, from its sender', () => {
  const [platform, agent, other] = [createSealedBox(), createSealedBox(), createSealedBox()]
  const sealed = platform.seal(Buffer.from('secret'), agent.publicKey)
  expect(Buffer.from(sealed, 'base64').includes('secret')).toBe(false)
  expect(Buffer.from(agent.open(sealed, platform.publicKey)).toString()).toBe('secret')
  expect(() => other.open(sealed, platform.publicKey)).toThrow()
  expect(() => agent.open(sealed, other.publicKey)).toThrow()
})

test('an agent is told all of a migration but its limits, rules in memory that its threads share', () => {
  const kind = { kind: 'local', options: { fsRoot: '/data' } } as const
  const exclusion = { id: 'temporary', kind: 'regex', regex: 'tmp' } as const
  const rules = packRules({ exclusions: [exclusion], inclusions: [] } as never)!
  const spec = {
    id: 'migration',
    generation: 2,
    root: Buffer.from([0x61, 0xff]),
    source: kind,
    target: kind,
    policy: 'Overwrite',
    rules,
    mappings: [{ from: Buffer.from('a'), to: Buffer.from('b') }],
  } as const
  const sent = migrationOfBytes(
    bytesOfMigration({ spec: sentSpec({ ...spec, limits: [] }), queueCreated: '', folders: [] }),
  )
  const { rules: received, ...rest } = sent.spec
  const { rules: _rules, ...others } = spec
  expect(rest).toEqual(others)
  expect(received!.json).toBeInstanceOf(SharedArrayBuffer)
  expect(Buffer.from(received!.json)).toEqual(Buffer.from(rules.json))
  const first = fingerprintOf(spec, 'then')
  expect(fingerprintOf({ ...spec, limits: [] }, 'then')).toBe(first)
  expect(fingerprintOf({ ...spec, generation: 3 }, 'then')).not.toBe(first)
  expect(fingerprintOf(spec, 'later')).not.toBe(first)
})

test('throughput is what was said lately, and the total that of items that are counted', () => {
  const throughput = new Throughput()
  throughput.says({ bytes: 0, files: 0 }, 0)
  expect(throughput.lately).toEqual({ bytesPerSecond: 0, filesPerSecond: 0 })
  throughput.says({ bytes: 5_000, files: 10 }, 5_000)
  expect(throughput.lately).toEqual({ bytesPerSecond: 1_000, filesPerSecond: 2 })
  for (const atMs of [10_000, 15_000]) throughput.says({ bytes: 15_000, files: 10 }, atMs)
  expect(throughput.lately).toEqual({ bytesPerSecond: 1_000, filesPerSecond: 0 })
  for (const atMs of [20_000, 25_000]) throughput.says({ bytes: 15_000, files: 10 }, atMs)
  expect(throughput.lately).toEqual({ bytesPerSecond: 0, filesPerSecond: 0 })
  throughput.add({ ...noCounts(), bytesMigrated: 5_000, filesMigrated: 10 })
  throughput.add({ ...noCounts(), bytesMigrated: 5_000, linksMigrated: 10 })
  expect(throughput.total).toMatchObject({ bytesMigrated: 10_000, filesMigrated: 10, linksMigrated: 10 })
})

test('what is under way of an agent counts among what it moves, and once', () => {
  const moved = new MovedSoFar()
  const inFlight = new InFlightProgress((more) => moved.add(more))
  const transfer = inFlight.begin('work')
  const meter = new MeterView(transfer.meter)
  meter.bytes(600)
  inFlight.tell()
  expect(moved.all).toEqual({ bytes: 600, files: 0 })
  meter.bytes(400)
  meter.file()
  moved.add(movedOf({ ...noCounts(), filesMigrated: 1, bytesMigrated: 1_000 }))
  transfer.end()
  expect(moved.all).toEqual({ bytes: 1_000, files: 1 })
  // Parts of a file that somebody else commits, and one that is given up.
  moved.add(movedOf({ ...noCounts(), bytesShared: 50 }))
  moved.add(movedOf({ ...noCounts(), bytesSharedOver: 5_000 }))
  expect(moved.all).toEqual({ bytes: 0, files: 1 })
})

const report = (name: string, protocol = agentProtocol, version = '1.0.0'): Report => ({
  name,
  host: name,
  version,
  protocol,
  shares: [],
  threads: 1,
  instance: crypto.randomUUID(),
  publicKey: '',
  revision: '',
  holding: [],
  itemsInHand: 0,
  moved: { bytes: 0, files: 0 },
  underWay: [],
})

test('a limit is shared by all who move under it, that of an agent by nobody', async () => {
  await using broker = await startTestBroker()
  using folder = createFolder('from', 'to')
  const connection = await broker.connect('PLATFORM')
  const { log, agentRegistry } = await openRegistry(connection)
  const policies = await openPolicies(connection)
  const limits = new Limits()
  const assignments = new Assignments({ agentRegistry, limits, log })
  const store = (fsRoot: string) => ({ kind: 'local', options: { fsRoot } }) as const
  await assignments.assign({
    workId: 'work',
    migrationId: 'nightly',
    target: 'there',
    movedBy: 'ALL',
    spec: {
      id: 'work',
      generation: 1,
      root: Buffer.alloc(0),
      source: store(folder.from),
      target: store(folder.to),
      policy: 'Overwrite',
      limits: [],
    },
    queue: { created: '' },
  } as never)
  const [one, two] = ['one', 'two'].map((name) =>
    agentRegistry.admit(name, { ...report(name), shares: [folder.root] }),
  ) as [LiveAgent, LiveAgent]
  const set = (place: Place, limitBytesPerSecond: number) =>
    policies.upsert(idOf(place), () => ({ ...noPolicy(place), limitBytesPerSecond }))
  await set({ scope: 'global' }, 3_000)
  await set({ scope: 'agent', name: 'one' }, 700)
  await limits.start(policies)
  const ratesOf = (agent: LiveAgent) =>
    assignments.assignmentsOf(agent).limits.flatMap(({ bytesPerSecond }) => bytesPerSecond ?? [])
  // Two agents and the platform.
  expect(new Set(ratesOf(one))).toEqual(new Set([700, 1_000]))
  expect(ratesOf(two)).toEqual([1_000])
  await limits.stop()
})

test('an agent of another release works, one of another protocol is told which side to update', async () => {
  await using broker = await startTestBroker()
  const { log, agentRegistry } = await openRegistry(await broker.connect('PLATFORM'))
  const desk = agentApiHandlers({
    agentRegistry,
    assignments: new Assignments({ agentRegistry, limits: new Limits(), log }),
    nameOf: (keyId) => Promise.resolve(keyId),
    onCount: () => undefined,
  })
  const attend = (asked: Report) =>
    desk.attend(asked, { caller: { kind: 'key', keyId: asked.name } } as never)
  const other = await attend(report('other', agentProtocol, '0.9.0'))
  const older = await attend(report('older', agentProtocol - 1, '0.8.0'))
  const newer = await attend(report('newer', agentProtocol + 1, '2.0.0'))
  const words = (release: string, theirs: number, side: string) =>
    `release ${release} of the agent uses protocol ${theirs}, but the platform uses ${agentProtocol}: update the ${side}`
  const [agent, platform] = [
    words('0.8.0', agentProtocol - 1, 'agent'),
    words('2.0.0', agentProtocol + 1, 'platform'),
  ]
  expect([other, older, newer].map(({ problem }) => problem)).toEqual([undefined, agent, platform])
  expect(await agentRegistry.all(() => [])).toMatchObject([
    { name: 'newer', healthy: false, health: { status: 'NOT_VALID', lastHealthMessage: platform } },
    { name: 'older', healthy: false, health: { status: 'NOT_VALID', lastHealthMessage: agent } },
    { name: 'other', healthy: true, version: '0.9.0', health: { status: 'CONNECTED' } },
  ])
  // The same agent after an update.
  agentRegistry.admit('older', report('older'))
  expect(await agentRegistry.all(() => [])).toMatchObject([{}, { name: 'older', healthy: true }, {}])
})

test('one key brings so many agents and no more', async () => {
  await using broker = await startTestBroker()
  const { agentRegistry } = await openRegistry(await broker.connect('PLATFORM'))
  const reports = Array.from({ length: maxAgentsOfKey }, (_, index) => report(`agent-${index}`))
  for (const one of reports) expect(agentRegistry.admit('key', one)).toMatchObject({ keyId: 'key' })
  expect(agentRegistry.admit('key', report('more'))).toBe(
    `${maxAgentsOfKey} agents with this key are connected, which is the limit: create a separate key for each host`,
  )
  expect(agentRegistry.admit('other key', report('more'))).toMatchObject({ keyId: 'other key' })
  // A new process of one that is there, and one after another has ended.
  expect(agentRegistry.admit('key', report('agent-0'))).toMatchObject({ keyId: 'key' })
  agentRegistry.left('key', reports[1]!.instance)
  expect(agentRegistry.admit('key', report('next'))).toMatchObject({ keyId: 'key' })
})

test('of the agents of a key that have gone, so many are remembered and no more', async () => {
  await using broker = await startTestBroker()
  const { agentRegistry } = await openRegistry(await broker.connect('PLATFORM'))
  const come = (keyId: string, name: string) => {
    const one = report(name)
    agentRegistry.admit(keyId, one)
    return () => agentRegistry.left(keyId, one.instance)
  }
  come('other key', 'other')()
  come('key', 'stays')
  for (let i = 0; i < maxSeenOfKey + 5; i++) come('key', `agent-${i}`)()
  const names = async () => (await agentRegistry.all(() => [])).map(({ name }) => name)
  await until('all are stored', async () => agentRegistry.knows(`agent-${maxSeenOfKey + 4}`))
  const known = await names()
  expect(known).toHaveLength(maxSeenOfKey + 1)
  expect(known).toEqual(expect.arrayContaining(['other', 'stays', `agent-${maxSeenOfKey + 4}`]))
  expect(known).not.toContain('agent-0')
})

/** Nothing has gone from it. */
const queueOfAll = { has: () => Promise.resolve(true), wasOut: () => Promise.resolve(false) }

/** A desk that a key, `one`, asks at, with what of which migration it was asked for. */
async function openDesk(connection: NatsConnection) {
  const { log, agentRegistry } = await openRegistry(connection)
  const assignments = new Assignments({ agentRegistry, limits: new Limits(), log })
  const failures = await openFailures(connection, 2 ** 30)
  const touched: string[] = []
  const counted: number[] = []
  const offer = (workId: string, fsRoot: string, more: object = {}) => {
    const touch = (what: string) => {
      touched.push(`${what} ${workId}`)
      return Promise.resolve()
    }
    const store = { kind: 'local', options: { fsRoot } } as const
    const spec = { id: workId, generation: 1, root: Buffer.alloc(0), source: store, target: store }
    return assignments.assign({
      workId,
      migrationId: workId,
      target: 'there',
      movedBy: 'ALL',
      spec: { ...spec, policy: 'Overwrite', limits: [] },
      queue: { has: () => touch('has'), remove: () => touch('remove'), created: '' },
      failures,
      progressLedger: { look: () => touch('look'), store: () => touch('store'), of: () => undefined },
      room: () => touch('room'),
      ...more,
    } as never)
  }
  const desk = agentApiHandlers({
    agentRegistry,
    assignments,
    nameOf: (keyId) => Promise.resolve(keyId),
    onCount: ({ filesMigrated }) => counted.push(filesMigrated),
  })
  const call = { caller: { kind: 'key', keyId: 'one' } } as never
  return { agentRegistry, assignments, failures, touched, counted, offer, desk, call }
}

test('an agent asks about the migrations that it was given alone, and ends nothing of the others', async () => {
  await using broker = await startTestBroker()
  using folder = createFolder('shared', 'other')
  const connection = await broker.connect('PLATFORM')
  const { assignments, failures, touched, offer, desk, call } = await openDesk(connection)
  const note = (book: string) =>
    failures.append(book, { timeMs: 0 } as never, crypto.randomUUID(), new AbortController().signal)
  await offer('mine', folder.shared)
  await offer('other', folder.other)
  // It says that it has the other one in hand, and shares nothing of it.
  const asked = { ...report('one'), shares: [folder.shared], holding: ['other'] }
  const { assignments: given } = await desk.attend(asked, call)
  expect(given.map(({ migration }) => migration)).toEqual(['mine'])
  const [ofMine, ofOther] = [await note('mine'), await note('other')]
  const { instance } = asked
  const book = { instance, book: crypto.randomUUID(), counts: {}, counted: [], early: [], published: 0 }
  const askAll = (migration: string) => [
    async () => desk.look({ migration, queueCreated: '', sequence: 1 }, call),
    async () => desk.has({ migration, queueCreated: '', sequence: 1 }, call),
    async () => desk.remove({ migration, queueCreated: '', sequence: 1 }, call),
    async () => desk.room({ migration }, call),
    async () => desk['store-book']({ ...book, migration, queueCreated: '' }, call),
    async () => desk['forget-failure']({ migration, sequence: ofMine }, call),
    async () => desk.open({ instance, migration }, call),
  ]
  for (const ask of askAll('other')) await expect(ask()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(touched).toEqual([])
  // A failure is of one migration, whatever the agent says.
  await desk['forget-failure']({ migration: 'mine', sequence: ofOther }, call)
  expect(await failures.counts()).toEqual(
    new Map([
      ['mine', 1],
      ['other', 1],
    ]),
  )
  await desk['forget-failure']({ migration: 'mine', sequence: ofMine }, call)
  expect(await failures.counts()).toEqual(new Map([['other', 1]]))
  await desk.has({ migration: 'mine', queueCreated: '', sequence: 1 }, call)
  expect(touched).toEqual(['has mine'])
  // Nobody waits for what it says that it holds and was never given.
  await assignments.withdraw('other')
  await desk.attend({ ...asked, holding: [] }, call)
  await assignments.withdraw('mine')
  await expect(desk.has({ migration: 'mine', queueCreated: '', sequence: 1 }, call)).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
})

test('who has a migration in hand when the platform starts may ask about it, and is waited for', async () => {
  await using broker = await startTestBroker()
  using folder = createFolder('shared', 'other')
  const { agentRegistry, assignments, offer, desk, call } = await openDesk(await broker.connect('PLATFORM'))
  const asked = { ...report('one'), shares: [folder.shared], holding: ['mine', 'other'] }
  agentRegistry.admit('one', asked)
  await offer('mine', folder.shared)
  await offer('other', folder.other)
  await desk.has({ migration: 'mine', queueCreated: '', sequence: 1 }, call)
  await expect(desk.has({ migration: 'other', queueCreated: '', sequence: 1 }, call)).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  const told: string[] = []
  const withdrawn = assignments.withdraw('mine').then(() => told.push('withdrawn'))
  await desk.has({ migration: 'mine', queueCreated: '', sequence: 1 }, call)
  told.push('has asked')
  await desk.attend({ ...asked, holding: ['other'] }, call)
  await withdrawn
  expect(told).toEqual(['has asked', 'withdrawn'])
})

test('a book of a queue that had the name before counts nothing of the one that has it now', async () => {
  await using broker = await startTestBroker()
  using folder = createFolder('shared')
  const connection = await broker.connect('PLATFORM')
  const progress = await Progress.open(connection)
  const { agentRegistry, assignments, offer, desk, call } = await openDesk(connection)
  const workId = crypto.randomUUID()
  const shelves = [
    await ProgressLedger.open(progress, workId, queueOfAll),
    await ProgressLedger.open(progress, workId, queueOfAll),
  ]
  const begin = (scan: number) =>
    offer('work', folder.shared, {
      progressLedger: shelves[scan],
      queue: { ...queueOfAll, created: `scan ${scan}` },
    })
  const asked = { ...report('one'), shares: [folder.shared] }
  await begin(0)
  const first = await desk.attend(asked, call)
  // It is frozen while others do the rest, and comes back when the folder is scanned again.
  agentRegistry.left('one', asked.instance)
  await assignments.withdraw('work')
  await begin(1)
  const again = await desk.attend({ ...asked, holding: ['work'] }, call)
  const content = { counts: { filesMigrated: 3 }, counted: [2], early: [], published: 2 }
  const store = (queueCreated: string) =>
    desk['store-book'](
      { instance: asked.instance, migration: 'work', queueCreated, book: crypto.randomUUID(), ...content },
      call,
    )
  await expect((async () => store('scan 0'))()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await shelves[1]?.look(2)).toMatchObject({ counted: false })
  expect(await progress.totals()).toEqual(new Map())
  expect(await store('scan 1')).toEqual({ refused: [] })
  expect(again.assignments[0]?.fingerprint).not.toBe(first.assignments[0]?.fingerprint)
})

test('a book that is sent once more before the first is stored counts once in all figures', async () => {
  await using broker = await startTestBroker()
  using folder = createFolder('shared')
  const connection = await broker.connect('PLATFORM')
  const { counted, offer, desk, call } = await openDesk(connection)
  const progressLedger = await ProgressLedger.open(
    await Progress.open(connection),
    crypto.randomUUID(),
    queueOfAll,
  )
  await offer('work', folder.shared, { progressLedger, queue: { ...queueOfAll, created: '' } })
  const asked = { ...report('one'), shares: [folder.shared] }
  await desk.attend(asked, call)
  const book = {
    instance: asked.instance,
    migration: 'work',
    queueCreated: '',
    book: crypto.randomUUID(),
    counts: { filesMigrated: 3 },
    counted: [1],
    early: [],
    published: 1,
  }
  await Promise.all([desk['store-book'](book, call), desk['store-book'](book, call)])
  expect(counted.reduce((sum, one) => sum + one, 0)).toBe(3)
})

test('work ends when the last book that was sent for it is stored', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const progress = await Progress.open(connection)
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const told: string[] = []
  const store = progress.store.bind(progress)
  progress.store = async (value) => {
    reached.resolve()
    await gate.promise
    await store(value)
    told.push('stored')
  }
  const assigned = Promise.withResolvers<AssignableWork>()
  const stop = new AbortController()
  const workId = crypto.randomUUID()
  const active = await ActiveMigration.open({
    connection,
    workId,
    migrationId: 'nightly',
    target: 'there',
    movedBy: 'AGENTS',
    // Nobody that it knows of has the migration in hand.
    agents: {
      assign: (work: AssignableWork) => assigned.resolve(work),
      withdraw: async () => void told.push('withdrawn'),
      workersOn: () => 1,
    },
    spec: { generation: 1 },
    threads: 1,
    progress,
    onCount: () => undefined,
    log: recordingLog().log,
    takeBack: false,
    signal: stop.signal,
  } as never)
  await active.seed()
  const ended = active.run().then(() => told.push('ended'))
  const { progressLedger } = await assigned.promise
  const book = { counts: { filesMigrated: 3 }, counted: [1], early: {}, published: 1 }
  const stored = progressLedger.store('of one thought dead', book)
  await reached.promise
  stop.abort()
  await until('nobody has it', () => told.includes('withdrawn'))
  gate.resolve()
  await Promise.all([ended, stored])
  expect(told).toEqual(['withdrawn', 'stored', 'ended'])
})

test('of processes that lost their name only the oldest are forgotten', async () => {
  await using broker = await startTestBroker()
  const { agentRegistry } = await openRegistry(await broker.connect('PLATFORM'))
  const reports = Array.from({ length: maxDismissed + 2 }, () => report('agent'))
  for (const one of reports) agentRegistry.admit('key', one)
  // The last one has the name; of the others, one more lost it than are remembered.
  for (const one of reports.slice(1, -1))
    expect(agentRegistry.admit('key', one)).toMatch(/another process uses the name agent/)
})

test('an agent is not told of a folder whose path leads to one of Gantry itself by then', async () => {
  await using broker = await startTestBroker()
  using folder = createFolder('own', 'data')
  const { log, agentRegistry } = await openRegistry(await broker.connect('PLATFORM'))
  const bounds = createBounds([{ name: 'the configuration folder', path: folder.own, fix: 'move it' }])
  const assignments = new Assignments({ agentRegistry, limits: new Limits(), bounds, log })
  const store = { kind: 'local', options: { fsRoot: folder.data } } as const
  const spec = { id: 'work', generation: 1, root: Buffer.alloc(0), source: store, target: store }
  await assignments.assign({
    workId: 'work',
    migrationId: 'nightly',
    target: 'there',
    movedBy: 'ALL',
    spec: { ...spec, policy: 'Overwrite', limits: [] },
    queue: { created: '' },
  } as never)
  const agent = agentRegistry.admit('one', { ...report('one'), shares: [folder.root] }) as LiveAgent
  expect(assignments.bytesFor(agent, 'work')).toBeInstanceOf(Uint8Array)
  rmSync(folder.data, { recursive: true })
  symlinkSync(folder.own, folder.data)
  expect(() => assignments.bytesFor(agent, 'work')).toThrow('is the configuration folder')
})
