import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../../../../broker/rpc/client.ts'
import { createSealedBox } from '../../../../broker/common/sealed-box.ts'
import { asAgent } from '../../../../subjects/kit/contract.ts'
import {
  catalogProtocol,
  catalogWork,
  maxMessageBytes,
  pieceLength,
} from '../../../../subjects/metadata/catalog-work.ts'
import { maxArrivingBytes } from '../../../../services/metadata/agents/catalog-agents.ts'
import { maxAgentsOfKey } from '../../../../subjects/migrations/agent-work.ts'
import type { CatalogSpec } from '../../../../subjects/metadata/kinds.ts'
import type { Catalog } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import { testCatalog } from '../../../support/catalog-conformance.ts'
import { startCatalogDesk } from '../../../support/catalog-agent.ts'
import { until } from '../../../support/until.ts'
import { littleDescription } from '../../../support/remote-catalog-double.ts'

const never = new AbortController().signal
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gantry-catalogs-')))
let desk: Awaited<ReturnType<typeof startCatalogDesk>>
let roots = 0

beforeAll(async () => {
  desk = await startCatalogDesk()
  desk.startAgent('far', [folder])
})
afterAll(async () => {
  await desk?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const specOf = (through = 'far', root = folder): CatalogSpec => ({
  kind: 'filesystem',
  options: { fileSystemId: 'documents', rootFolder: `/metadata/${++roots}`, agent: through },
  filesystem: { kind: 'local', options: { fsRoot: root } },
})

/** Resolves when an agent of this name answers. */
async function openWhenThere(spec: CatalogSpec) {
  let catalog: Catalog | undefined
  await until('an agent is there', async () => {
    try {
      catalog = await desk.open(spec)
    } catch (error) {
      if (!String(error).includes('does not serve catalogs now')) throw error
    }
    return catalog !== undefined
  })
  return catalog!
}

testCatalog({
  name: 'documents through an agent',
  missing: undefined,
  open: () => openWhenThere(specOf()),
  locationOf: async (_, path) => `hdfs://lake/${path}`,
  oddNames: ['select', 'with space', 'Größe', 'a/b', '..', '50%', 'é'.normalize('NFD')],
  views: ['VIRTUAL_VIEW', 'MATERIALIZED_VIEW'],
  managed: true,
  partitions: true,
  transactional: true,
  functions: true,
  constraints: true,
  statistics: true,
  privileges: true,
  feed: false,
})

/** What an agent with a key of this name asks. */
async function asker(name: string) {
  const { connection, keyId } = await desk.connectAgent(name)
  const report = {
    instance: crypto.randomUUID(),
    protocol: catalogProtocol,
    version: '1.0.0',
    publicKey: createSealedBox().publicKey,
    holding: [],
  }
  const { instance } = report
  return {
    piece: (id: string) =>
      call(connection, asAgent(catalogWork['catalog-piece'], keyId), { instance, id, index: 0 }),
    next: (more: object = {}) =>
      call(connection, asAgent(catalogWork['catalog-next'], keyId), { ...report, ...more }),
    answer: (id: string, piece: string, index = 0, isLast = true) =>
      call(connection, asAgent(catalogWork['catalog-answer'], keyId), {
        instance,
        id,
        index,
        isLast,
        piece,
      }),
    asIfOf: (other: string) => call(connection, asAgent(catalogWork['catalog-next'], other), report),
  }
}

test('what is longer than a message crosses in pieces, in both directions', async () => {
  const catalog = await openWhenThere(specOf())
  const long = '"ü\\'.repeat(pieceLength / 2)
  await catalog.writer!.createDatabase({ name: 'long', description: long, parameters: {} }, never)
  expect((await catalog.database('long', never))?.description).toBe(long)
})

test('documents outside of the folders that the agent shares are not touched', async () => {
  await expect(desk.open(specOf('far', tmpdir()))).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
})

test('nobody but an agent of the name is asked, and who asks hears what to start', async () => {
  await expect(desk.open(specOf('absent'))).rejects.toMatchObject({
    failure: 'unreachable',
    message: expect.stringMatching(/agent absent does not serve catalogs now: .*gantry agent --catalogs/),
  })
  const one = await asker('one')
  await expect(one.asIfOf('far')).rejects.toMatchObject({ code: 'DENIED' })
})

test('an agent of another protocol is asked nothing, and both sides hear which is to be updated', async () => {
  const old = await asker('old')
  const { problem, questions } = await old.next({ protocol: catalogProtocol - 1, version: '0.9.0' })
  expect([problem, questions]).toEqual([expect.stringContaining('update the agent'), []])
  await expect(desk.open(specOf('old'))).rejects.toMatchObject({
    failure: 'unreachable',
    message: problem,
  })
})

test.each([
  ['no JSON', '{'],
  ['the shape of another answer', '{"value":["a"]}'],
  ['an unknown field', '{"value":{"place":"x"},"more":1}'],
  ['a failure of no class', '{"error":{"message":"x","failure":"lost"}}'],
  ['a failure of the platform itself', '{"error":{"message":"x","code":"DENIED"}}'],
])('an answer with %s is refused by name', async (_, text) => {
  const odd = await asker('odd')
  // The first question tells that it is there.
  const waiting = odd.next()
  const opened = openWhenThere(specOf('odd'))
  const refused = expect(opened).rejects.toMatchObject({
    failure: 'io',
    message: expect.stringContaining('agent odd answers describe with something else'),
  })
  const { questions } = await waiting
  await odd.answer(questions[0]!.id, text)
  await refused
})

test('what an agent was given and does not hold is lost, and said to be', async () => {
  const lost = await asker('lost')
  const waiting = lost.next()
  const opened = openWhenThere(specOf('lost'))
  const refused = expect(opened).rejects.toMatchObject({
    failure: 'unreachable',
    message: expect.stringContaining('agent lost was lost before it answered'),
  })
  expect((await waiting).questions).toHaveLength(1)
  void lost.next().catch(() => undefined)
  await refused
})

test('an answer that grows beyond its bound is not kept, nor are all those of a key together', async () => {
  const long = await asker('long')
  const piece = '€'.repeat(pieceLength)
  const pieces = Math.floor(maxMessageBytes / Buffer.byteLength(piece))
  /** Sends as much of an answer as one may have at most. */
  const fill = async (id: string) => {
    for (let index = 0; index < pieces; index++) await long.answer(id, piece, index, false)
  }
  const holding: string[] = []
  const take = async () => {
    const { questions } = await long.next({ holding })
    holding.push(...questions.map(({ id }) => id))
    return questions.map(({ id }) => id)
  }
  const waiting = take()
  const opened = openWhenThere(specOf('long'))
  const tooLong = expect(opened).rejects.toMatchObject({
    failure: 'too-large',
    message: expect.stringContaining('agent long has more than 64 MiB in one message'),
  })
  const [first] = await waiting
  await fill(first!)
  await expect(long.answer(first!, piece, pieces, false)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await tooLong

  const all = Promise.allSettled(Array.from({ length: 5 }, () => desk.open(specOf('long'))))
  const ids = [...(await take()), ...(await take())]
  expect(ids).toHaveLength(5)
  for (const id of ids.slice(0, maxArrivingBytes / maxMessageBytes)) await fill(id)
  let sent = 0
  const overfill = async () => {
    for (; sent < pieces; sent++) await long.answer(ids.at(-1)!, piece, sent, false)
  }
  await expect(overfill()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  // Only what was left of the bound was taken.
  expect(sent * Buffer.byteLength(piece)).toBeLessThan(maxMessageBytes / 16)
  void long.next().catch(() => undefined)
  const failures = (await all).map((one) => one.status === 'rejected' && one.reason.failure)
  expect(failures).toEqual([...Array(4).fill('unreachable'), 'throttled'])
}, 60_000)

test('a question that is too large is refused alone, and those beside it are answered', async () => {
  const catalog = await openWhenThere(specOf())
  const huge = 'x'.repeat(maxMessageBytes)
  const asked = [
    catalog.databases(never),
    catalog.writer!.createDatabase({ name: 'huge', description: huge, parameters: {} }, never),
    catalog.databases(never),
  ]
  const failure = { status: 'rejected', reason: { failure: 'too-large' } }
  expect(await Promise.allSettled(asked)).toMatchObject([
    { status: 'fulfilled', value: [] },
    failure,
    { status: 'fulfilled', value: [] },
  ])
})

test('questions to an agent whose key nothing can be sealed for fail, and its reply does not', async () => {
  const odd = await asker('unsealed')
  const waiting = odd.next({ publicKey: 'X' })
  const refused = expect(openWhenThere(specOf('unsealed'))).rejects.toMatchObject({
    failure: 'unreachable',
    message: expect.stringContaining('agent unsealed cannot be sent a question'),
  })
  expect((await waiting).questions).toEqual([])
  await refused
})

test('agents of a key are so many at most, and one more hears why it is asked nothing', async () => {
  const many = await asker('many')
  const waiting = Array.from({ length: maxAgentsOfKey }, () => many.next({ instance: crypto.randomUUID() }))
  const { problem, questions } = await many.next()
  expect([problem, questions]).toEqual([
    expect.stringMatching(/100 agents with this key are connected, which is the limit/),
    [],
  ])
  for (const { problem: its } of await Promise.all(waiting)) expect(its).toBeUndefined()
})

test('of an agent one question what to do is open: the one before it ends, and gets nothing', async () => {
  const twice = await asker('twice')
  const before = twice.next()
  const waiting = twice.next()
  expect((await before).questions).toEqual([])
  const opened = openWhenThere(specOf('twice')).catch(() => undefined)
  const { questions } = await waiting
  expect(questions).toHaveLength(1)
  await twice.answer(questions[0]!.id, '{')
  expect(await opened).toBeUndefined()
})

test('what nobody waits for any more is asked of no agent', async () => {
  const late = await asker('late')
  const waiting = late.next()
  const opening = openWhenThere(specOf('late'))
  const [first] = (await waiting).questions
  await late.answer(first!.id, littleDescription)
  const catalog = await opening
  const given = new AbortController()
  const next = late.next()
  const refused = expect(catalog.databases(given.signal)).rejects.toThrow('given up')
  const { id } = (await next).questions[0]!
  given.abort(new Error('given up'))
  await refused
  await expect(late.piece(id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(late.answer(id, '{"value":[]}')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
