import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { StoreError } from '../../../services/drivers/index.ts'
import { Stores } from '../../../services/filesystems/stores.ts'
import { GantryError } from '../../../subjects/errors.ts'
import { until } from '../../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'stores-'))
afterAll(() => rmSync(folder, { recursive: true }))
const never = new AbortController().signal
const local = { kind: 'local', options: { fsRoot: folder } } as const
const stuck = new URL('./stuck-thread.ts', import.meta.url)
const dying = new URL('./dying-thread.ts', import.meta.url)
const failureOf = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)

test('a store that does not answer is given up before the caller gives up', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const address = silent.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const spec = {
    kind: 'adls2-shared-key',
    options: {
      accountName: 'account',
      sharedKey: 'AAAA',
      containerName: 'container',
      endpoint: `127.0.0.1:${port}`,
      insecure: true,
    },
  } as const
  const error = await failureOf(new Stores({ patienceMs: 500 }).probe(spec, never))
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ failure: 'unreachable', message: 'the store did not answer within 0.5 s' })
  silent.close()
})

test('a call that hangs holds up nobody, and is given up', async () => {
  const stores = new Stores({ entry: stuck, patienceMs: 200 })
  let turns = 0
  const ticking = setInterval(() => (turns += 1), 5)
  const error = await failureOf(stores.probe(local, never))
  clearInterval(ticking)
  expect(error).toMatchObject({ failure: 'unreachable', message: 'the store did not answer within 0.2 s' })
  expect(turns).toBeGreaterThan(5)
})

test('more questions than threads: the others wait for their turn, or leave', async () => {
  const stores = new Stores({ entry: stuck, patienceMs: 300 })
  const leaving = new AbortController()
  const asked = Array.from({ length: 20 }, (_, index) =>
    failureOf(stores.probe(local, index === 12 ? leaving.signal : never)),
  )
  leaving.abort(new Error('left'))
  const failures = (await Promise.all(asked)) as Error[]
  expect(failures.filter(({ message }) => message.includes('did not answer'))).toHaveLength(19)
  expect(failures[12]!.message).toBe('left')
})

test('a caller that gives up gets its own reason', async () => {
  const leaving = new AbortController()
  const asked = failureOf(new Stores({ entry: stuck }).probe(local, leaving.signal))
  leaving.abort(new Error('left'))
  expect(await asked).toMatchObject({ message: 'left' })
})

test('errors keep their class across the thread', async () => {
  const stores = new Stores()
  const gone = { kind: 'local', options: { fsRoot: join(folder, 'gone') } } as const
  const error = await failureOf(stores.probe(gone, never))
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ failure: 'gone', message: expect.stringContaining(join(folder, 'gone')) })
  const unknown = {
    kind: 'local',
    options: { ...local.options, additionalProperties: { 'a.b': 'c' } },
  } as const
  const refused = await failureOf(stores.probe(unknown, never))
  expect(refused).toBeInstanceOf(GantryError)
  expect(refused).toMatchObject({ code: 'INVALID_INPUT', details: [{ field: 'additionalProperties.a.b' }] })
  stores.close()
})

test('the first entries of a large folder by their names, and those after', async () => {
  const stores = new Stores()
  const large = join(folder, 'many')
  mkdirSync(large)
  for (let count = 0; count < 8_000; count++) writeFileSync(join(large, `f${count}`), '')
  const names = async (after: Buffer | undefined) => {
    const entries = await stores.firstEntries(local, Buffer.from('many'), { after, limit: 3 }, never)
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
  await stores.probe(local, never)
  await ended.promise
  await stores.probe(local, never)
  stores.close()
})

test('a thread that dies while it is idle takes nobody with it, and the next question has another', async () => {
  const stores = new Stores({ entry: dying, patienceMs: 5_000 })
  const deaths = new BroadcastChannel('dying')
  const death = Promise.withResolvers<void>()
  deaths.addEventListener('message', () => death.resolve(), { once: true })
  // Its answer and its end come by two ways, and either may be the first.
  await failureOf(stores.probe(local, never))
  await death.promise
  // Until its end is heard of, a question may go to it, and is told.
  await until('a thread answers', async () => (await failureOf(stores.probe(local, never))) === undefined)
  deaths.close()
  stores.close()
})
