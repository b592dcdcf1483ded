import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { StoreError } from '../../../services/drivers/index.ts'
import { Stores } from '../../../services/filesystems/stores.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { silentEndpoint } from '../../support/silent-endpoint.ts'
import { until } from '../../support/until.ts'
import { fillWithNames } from '../../support/many-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'stores-'))
afterAll(() => rmSync(folder, { recursive: true }))
const ada = { owner: 'ada', signal: new AbortController().signal }
const bob = { ...ada, owner: 'bob' }
const local = { kind: 'local', options: { fsRoot: folder } } as const
const stuck = new URL('./stuck-thread.ts', import.meta.url)
const dying = new URL('./dying-thread.ts', import.meta.url)
const failureOf = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)

test('a store that does not answer is given up before the caller gives up', async () => {
  await using silent = await silentEndpoint()
  const error = await failureOf(new Stores({ patienceMs: 500 }).probe(silent.spec, ada))
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ failure: 'unreachable', message: 'the store did not answer within 0.5 s' })
})

test('a call that hangs holds up nobody, and is given up', async () => {
  const stores = new Stores({ entry: stuck, patienceMs: 200 })
  let turns = 0
  const ticking = setInterval(() => (turns += 1), 5)
  const error = await failureOf(stores.probe(local, ada))
  clearInterval(ticking)
  expect(error).toMatchObject({ failure: 'unreachable', message: 'the store did not answer within 0.2 s' })
  expect(turns).toBeGreaterThan(5)
})

test('more questions than threads: the others wait for their turn, or leave', async () => {
  const stores = new Stores({ entry: stuck, patienceMs: 300 })
  const leaving = new AbortController()
  const asked = Array.from({ length: 20 }, (_, index) =>
    failureOf(stores.probe(local, index === 12 ? { ...ada, signal: leaving.signal } : ada)),
  )
  leaving.abort(new Error('left'))
  const failures = (await Promise.all(asked)) as Error[]
  expect(failures.filter(({ message }) => message.includes('did not answer'))).toHaveLength(19)
  expect(failures[12]!.message).toBe('left')
})

test('whoever asks stores that do not answer keeps no other owner waiting', async () => {
  await using silent = await silentEndpoint()
  const stores = new Stores({ patienceMs: 600_000 })
  const leaving = new AbortController()
  let settled = 0
  const given = Array.from({ length: 50 }, async () => {
    await failureOf(stores.probe(silent.spec, { ...ada, signal: leaving.signal }))
    settled += 1
  })
  await until('as many are asked as may be', () => silent.connections() >= 8)
  for (let n = 0; n < 3; n++) await stores.probe(local, bob)
  expect(settled).toBe(0)
  leaving.abort(new Error('left'))
  await Promise.all(given)
  await stores.probe(local, ada)
  stores.close()
})

test('a caller that gives up gets its own reason', async () => {
  const leaving = new AbortController()
  const asked = failureOf(new Stores({ entry: stuck }).probe(local, { ...ada, signal: leaving.signal }))
  leaving.abort(new Error('left'))
  expect(await asked).toMatchObject({ message: 'left' })
})

test('errors keep their class across the thread', async () => {
  const stores = new Stores()
  const gone = { kind: 'local', options: { fsRoot: join(folder, 'gone') } } as const
  const error = await failureOf(stores.probe(gone, ada))
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ failure: 'gone', message: expect.stringContaining(join(folder, 'gone')) })
  const unknown = {
    kind: 'local',
    options: { ...local.options, additionalProperties: { 'a.b': 'c' } },
  } as const
  const refused = await failureOf(stores.probe(unknown, ada))
  expect(refused).toBeInstanceOf(GantryError)
  expect(refused).toMatchObject({ code: 'NOT_ACCEPTED', details: [{ field: 'additionalProperties.a.b' }] })
  stores.close()
})

test('the first entries of a large folder by their names, and those after', async () => {
  const stores = new Stores()
  const large = join(folder, 'many')
  mkdirSync(large)
  fillWithNames(large, 8_000, (index) => `f${index}`)
  const names = async (after: Buffer | undefined) => {
    const entries = await stores.firstEntries(local, Buffer.from('many'), { after, limit: 3 }, ada)
    return entries.map(({ name }) => name.toString())
  }
  expect(await names(undefined)).toEqual(['f0', 'f1', 'f10'])
  expect(await names(Buffer.from('f10'))).toEqual(['f100', 'f1000', 'f1001'])
  stores.close()
})

test('a thread that nobody asks any more ends', async () => {
  const ended = Promise.withResolvers<void>()
  process.once('worker', (worker) => worker.once('exit', () => ended.resolve()))
  const stores = new Stores({ idleMs: 10 })
  await stores.probe(local, ada)
  await ended.promise
  await stores.probe(local, ada)
  stores.close()
})

test('a thread that dies while it is idle takes nobody with it, and the next question has another', async () => {
  const stores = new Stores({ entry: dying, patienceMs: 5_000 })
  const deaths = new BroadcastChannel('dying')
  const death = Promise.withResolvers<void>()
  deaths.addEventListener('message', () => death.resolve(), { once: true })
  // Its answer and its end come by two ways, and either may be the first.
  await failureOf(stores.probe(local, ada))
  await death.promise
  // Until its end is heard of, a question may go to it, and is told.
  await until('a thread answers', async () => (await failureOf(stores.probe(local, ada))) === undefined)
  deaths.close()
  stores.close()
})

test('a removal for which there is no time goes as far as it can, and the next one goes on', async () => {
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  for (let index = 0; index < 3_000; index++) writeFileSync(join(tree, String(index)), 'x')
  const impatient = new Stores({ removalMs: 0 })
  const first = await impatient.remove(local, Buffer.from('tree'), true, ada)
  expect(first).toMatchObject({ outcome: 'more', bytes: first.entries })
  expect(first.entries).toBeLessThan(3_000)
  const second = await new Stores().remove(local, Buffer.from('tree'), true, ada)
  expect(second).toEqual({
    outcome: 'removed',
    entries: 3_001 - first.entries,
    bytes: 3_000 - first.entries,
  })
  expect(existsSync(tree)).toBe(false)
})
