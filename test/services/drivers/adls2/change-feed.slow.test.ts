import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { Adls2Driver } from '../../../../services/drivers/adls2/adls2.ts'
import { BlobChangeFeed } from '../../../../services/drivers/adls2/change-feed/change-feed.ts'
import { ChangeLog } from '../../../../services/drivers/adls2/change-feed/change-log.ts'
import type { DirtyFolder } from '../../../../services/drivers/feeds/dirty-folders.ts'
import { type FeedPositions, WatchError } from '../../../../services/drivers/feeds/feed.ts'
import { blobEndpoint } from '../../../../services/drivers/azure-blob/endpoint.ts'
import { never } from '../../../conformance/driver-store.ts'
import { azuriteOptions, openClient } from '../../../support/azure-driver.ts'
import { type Azurite, startAzurite } from '../../../support/azurite.ts'
import { avroFile, ChangeFeedDouble, eventOf, segmentNow } from '../../../support/change-feed-double.ts'
import { startInterferingProxy } from '../../../support/interfering-proxy.ts'
import { memoryPositions } from '../../../support/feeds.ts'
import { until } from '../../../support/until.ts'

let azurite: Azurite
let double: ChangeFeedDouble
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite[Symbol.asyncDispose]())
beforeEach(async () => {
  double = new ChangeFeedDouble(azurite.service, 'data')
  await double.container.deleteIfExists()
  await double.enable()
})

const hour = segmentNow()
const hourBefore = segmentNow(-1)
const created = (name: string) => ({ type: 'BlobCreated', name })

function openLog(endpoint = azurite.endpoint): ChangeLog {
  const options = { ...azuriteOptions(azurite, '$blobchangefeed'), endpoint }
  return new ChangeLog(azurite.account, openClient(blobEndpoint(options), options))
}

/** A migration that follows; what it is told is done at once, unless it is said otherwise. */
class Follower {
  readonly names: string[] = []
  everything = 0
  behind = 0
  readonly ends: Error[] = []
  readonly waiting: (() => void)[] = []
  finishes = true
  readonly positions: FeedPositions
  #feed: BlobChangeFeed | undefined

  constructor(positions: FeedPositions = memoryPositions().of('reader')) {
    this.positions = positions
  }

  open({ root = '', periodMs = 5, endpoint = azurite.endpoint } = {}): Promise<boolean> {
    const log = openLog(endpoint)
    this.#feed = new BlobChangeFeed({ log, container: 'data', root, periodMs })
    return this.#feed.open(
      {
        positions: this.positions,
        behind: () => {
          this.behind++
          return () => void this.behind--
        },
        changed: (folders, done) => this.#changed(folders, done),
        ended: (error) => void this.ends.push(error),
      },
      never,
    )
  }

  #changed(folders: readonly DirtyFolder[], done?: () => void): void {
    for (const { folder, names, trees, scope } of folders) {
      if (folder === '' && scope === 'tree') this.everything++
      for (const name of [...names, ...trees]) this.names.push(folder === '' ? name : `${folder}/${name}`)
    }
    if (done === undefined) return
    if (this.finishes) done()
    else this.waiting.push(done)
  }

  get toldUntilMs(): number {
    return this.#feed?.toldUntilMs ?? Number.NaN
  }

  finish(): void {
    this.finishes = true
    for (const done of this.waiting.splice(0)) done()
  }

  told(...names: readonly string[]): Promise<unknown> {
    return until(`${names.join()} are told, not ${this.names.join()}`, () => {
      expect(this.ends).toEqual([])
      return names.every((name) => this.names.includes(name))
    })
  }

  async ended(): Promise<Error> {
    await until('it has ended', () => this.ends.length > 0)
    return this.ends[0]!
  }

  async close(): Promise<void> {
    await this.#feed?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

test('what Azure may not have written down yet does not count as told', async () => {
  const one = new Follower()
  await one.open()
  const beganMs = one.toldUntilMs
  expect(beganMs).toBeLessThan(monotonicMs() - 60_000)
  await until('it looks again', () => one.toldUntilMs > beganMs)
  await one.close()
})

test('what Azure adds is told: of all shards, files and segments, of this container and folder', async () => {
  await double.consumable(hourBefore)
  await double.segment(hourBefore, 'Finalized', ['00'])
  await double.tell(double.file('00', hourBefore), [created('sub/old')])
  await using all = new Follower()
  await using below = new Follower()
  expect(await all.open()).toBe(false)
  expect(await below.open({ root: 'sub' })).toBe(false)
  // Before there are files, and with a file that has nothing in it.
  await double.segment(hour, 'Publishing', ['00', '01'])
  await double.append(double.file('00', hour), Buffer.alloc(0))
  const ancient = new Date(Date.now() - 3_600_000).toISOString()
  const other = eventOf('/blobServices/default/containers/other/blobs/sub/theirs')
  const first = double.file('00', hour)
  await double.append(
    first,
    await double.bytes(first, [
      double.event(created('sub/ancient'), ancient),
      double.event({ type: 'Control', name: 'sub/control' }),
      other,
      double.event(created('sub/a')),
    ]),
  )
  await double.tell(double.file('01', hour), [{ type: 'BlobDeleted', name: 'b' }])
  await all.told('sub', 'sub/a', 'b')
  // More, and the next file.
  await double.tell(first, [{ type: 'BlobPropertiesUpdated', name: 'sub/properties' }])
  await double.tell(double.file('00', hour, 1), [created('sub/next')])
  await double.tell(double.file('00', hour, 1), [created('sub/next 2')])
  await double.segment(segmentNow(1), 'Publishing', ['07'])
  await double.tell(double.file('07', segmentNow(1)), [created('sub/later')])
  await all.told('sub/properties', 'sub/next', 'sub/next 2', 'sub/later')
  await below.told('a', 'properties', 'next', 'next 2', 'later')
  for (const { names } of [all, below]) {
    expect(names.filter((name) => /old|ancient|control|theirs/.test(name))).toEqual([])
  }
  expect(below.names.every((name) => !name.includes('b'))).toBe(true)
  expect([all.everything, all.behind]).toEqual([0, 0])
})

test('it goes on from where all was done, and says that it is behind until it has read the rest', async () => {
  const positions = memoryPositions()
  const file = double.file('00', hour)
  await double.consumable(hour)
  await double.segment(hour, 'Publishing', ['00', '01'])
  await using first = new Follower(positions.of('reader'))
  expect(await first.open()).toBe(false)
  await double.tell(file, [created('done')])
  await first.told('done')
  first.finishes = false
  await double.tell(file, [created('undone')])
  await double.tell(double.file('01', hour), [created('undone 2')])
  await first.told('undone', 'undone 2')
  await first.close()
  await double.tell(file, [created('meanwhile')])

  await using second = new Follower(positions.of('reader'))
  expect(await second.open({ periodMs: 3_600_000 })).toBe(true)
  await second.told('undone', 'undone 2', 'meanwhile')
  expect(second.names).not.toContain('done')
  await until('it is not behind', () => second.behind === 0)
  await second.close()

  // Finished segments need no places.
  await double.segment(hour, 'Finalized', ['00', '01'])
  await using third = new Follower(positions.of('reader'))
  expect(await third.open()).toBe(true)
  await until('the segment is done', () =>
    [...positions.kept.values()].some(
      ({ at }) => at.includes(`"after":"${hour}"`) && at.includes('"segments":[]'),
    ),
  )
  await third.close()
  expect(third.names).toEqual([])

  // Nobody else was told.
  await using other = new Follower(positions.of('other'))
  expect(await other.open()).toBe(false)
})

test('a file that is read while it grows, byte by byte, and by one reader after another, tells everything', async () => {
  await double.consumable(hourBefore)
  let segment = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('null' as const, 'deflate' as const),
      fc.integer({ min: 1, max: 2_000 }),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean(), fc.boolean()), {
        maxLength: 5,
      }),
      async (codec, blockSize, steps) => {
        const shard = String(segment++)
        const its = new ChangeFeedDouble(azurite.service, 'data', codec)
        await its.segment(hour, 'Publishing', [shard])
        const file = its.file(shard, hour)
        const names = Array.from({ length: 8 }, (_, index) => `${shard}-${index}`)
        const bytes = await its.bytes(
          file,
          names.map((name) => its.event(created(name))),
          blockSize,
        )
        const positions = memoryPositions().of('reader')
        let follower = new Follower(positions)
        const told: string[] = []
        await follower.open()
        let at = 0
        for (const [share, isKilled, finishes] of steps) {
          const next = Math.max(at, Math.floor(share * bytes.length))
          await its.append(file, bytes.subarray(at, next))
          at = next
          follower.finishes = finishes
          if (!isKilled) continue
          await follower.close()
          // What was not done is told again.
          if (follower.waiting.length === 0) told.push(...follower.names)
          follower = new Follower(positions)
          expect(await follower.open()).toBe(true)
        }
        follower.finishes = true
        await its.append(file, bytes.subarray(at))
        await until(`all of ${names.join()} is told`, () => {
          expect(follower.ends).toEqual([])
          const found = new Set([...told, ...follower.names])
          return names.every((name) => found.has(name))
        })
        await follower.close()
      },
    ),
    { numRuns: 12 },
  )
})

test('what has no room waits in the feed', async () => {
  await double.segment(hour, 'Publishing', ['00'])
  await using follower = new Follower()
  follower.finishes = false
  await follower.open()
  const file = double.file('00', hour)
  const many = Array.from({ length: 24_000 }, (_, index) => double.event(created(`${index}`)))
  const bytes = await double.bytes(file, many, 100_000)
  for (let at = 0; at < bytes.length; at += 4_000_000)
    await double.append(file, bytes.subarray(at, at + 4_000_000))
  await until('it is full', () => follower.names.length > 19_999)
  await double.tell(file, [created('last')])
  expect(follower.names.length).toBeLessThan(24_000)
  follower.finish()
  await follower.told('last')
})

test('what is not there any more causes a comparison of everything', async () => {
  const positions = memoryPositions()
  const file = double.file('00', hour)
  const missed = async () => {
    await using follower = new Follower(positions.of('reader'))
    const missedNothing = await follower.open()
    // From here on it is told again.
    await double.tell(double.file('09', segmentNow(2)), [created('again')])
    await follower.told('again')
    return !missedNothing || follower.everything > 0
  }
  const begin = async () => {
    await double.consumable(hourBefore)
    await double.segment(hour, 'Publishing', ['00'])
    await double.segment(segmentNow(2), 'Publishing', ['09'])
    await double.tell(file, [created('a')])
  }
  await begin()
  expect(await missed()).toBe(true)
  expect(await missed()).toBe(false)

  // Another file, which is longer, and one that is shorter.
  await file.delete()
  await double.append(file, await avroFile(Array.from({ length: 9 }, () => double.event(created('other')))))
  expect(await missed()).toBe(true)
  await file.delete()
  await double.append(file, (await avroFile([])).subarray(0, -1))
  expect(await missed()).toBe(true)
  await file.delete()
  expect(await missed()).toBe(false)

  // A segment that was not read to its end.
  await double.tell(double.file('00', hour), [])
  expect(await missed()).toBe(false)
  await double.container.deleteBlob(`idx/segments/${hour}/meta.json`)
  expect(await missed()).toBe(true)
  expect(await missed()).toBe(false)

  // It was disabled, and enabled again.
  await double.container.deleteBlob('idx/segments/1601/01/01/0000/meta.json')
  expect(await missed()).toBe(true)
  expect(await missed()).toBe(false)

  // A position of two days ago, whose segment the service has removed since, or has not.
  await double.enable()
  expect(await missed()).toBe(true)
  const stream = [...positions.kept.keys()][0]!
  const kept = JSON.parse(positions.kept.get(stream)!.at) as Record<string, unknown>
  const old = { ...kept, readMs: Date.now() - 48 * 3_600_000, segments: [] }
  for (const [after, isMissed] of [
    [segmentNow(-50), true],
    ['1601/01/01/0000', true],
    [hourBefore, false],
  ] as const) {
    await double.segment(hourBefore, 'Finalized', [])
    await positions.of('reader').keep(stream, JSON.stringify({ ...old, after }))
    expect(await missed(), after).toBe(isMissed)
  }
})

test('a feed that is enabled anew while it is read causes a comparison, and is read on', async () => {
  await using follower = new Follower()
  await follower.open()
  await double.container.deleteBlob('idx/segments/1601/01/01/0000/meta.json')
  await until('everything is compared', () => follower.everything === 1)
  await double.segment(hour, 'Publishing', ['00'])
  await double.tell(double.file('00', hour), [created('a')])
  await follower.told('a')
})

test('segments are found after any time, by year, month, day and hour', async () => {
  const names = [
    '2023/12/31/2300',
    '2024/01/01/0000',
    '2024/02/29/0910',
    '2024/03/01/0010',
    '2026/01/01/0100',
  ]
  for (const name of names.toReversed()) await double.segment(name, 'Finalized', [])
  const log = openLog()
  for (const [index, name] of names.entries()) {
    expect(await log.segments(name, never)).toEqual(names.slice(index + 1))
    expect(await log.segments(`${name.slice(0, -4)}0000`, never)).toEqual(
      names.slice(name.endsWith('0000') ? index + 1 : index),
    )
  }
  expect(await log.segments('1601/01/01/0000', never)).toEqual(names)
  log.close()
})

test('while the store fails nothing is lost, and answers that are too long end it', async () => {
  await double.consumable(hourBefore)
  await double.segment(hour, 'Publishing', ['00', '01'])
  let isFailing = false
  let isTooLong = false
  let failures = 0
  await using proxy = await startInterferingProxy(azurite.endpoint, ({ url = '' }) => {
    if (isFailing && ++failures % 4 !== 0) return 'lost'
    if (isTooLong && url.includes('.avro'))
      return {
        after: ({ status, headers, body }) => ({
          status,
          headers: { ...headers, 'content-length': 2 * body.length },
          body: Buffer.concat([body, body]),
        }),
      }
    return undefined
  })
  await using follower = new Follower()
  await follower.open({ endpoint: proxy.endpoint })
  const names = Array.from({ length: 20 }, (_, index) => `name ${index}`)
  isFailing = true
  for (const [index, name] of names.entries())
    await double.tell(double.file(`0${index % 2}`, hour, index < 10 ? 0 : 1), [created(name)])
  await until('requests have failed', () => failures > 30)
  isFailing = false
  await follower.told(...names)
  isTooLong = true
  await double.tell(double.file('00', hour, 1), [created('more')])
  expect((await follower.ended()).message).toMatch(/more bytes than were asked for/)
})

test('a file that had grown before the next one was begun is read to its end, whatever a listing says', async () => {
  await double.segment(hour, 'Publishing', ['00'])
  const file = double.file('00', hour)
  await double.tell(file, [created('first')])
  const { contentLength: listed } = await file.getProperties()
  await double.tell(file, [created('second')])
  const { contentLength: whole } = await file.getProperties()
  await double.tell(double.file('00', hour, 1), [created('third')])
  const sizeOf = (bytes: number | undefined) => `<Content-Length>${bytes}</Content-Length>`
  await using proxy = await startInterferingProxy(azurite.endpoint, ({ url = '' }) =>
    url.includes('comp=list')
      ? {
          after: (answer) => {
            const body = Buffer.from(answer.body.toString().replace(sizeOf(whole), sizeOf(listed)))
            return { ...answer, headers: { ...answer.headers, 'content-length': body.length }, body }
          },
        }
      : undefined,
  )
  await using follower = new Follower()
  await follower.open({ endpoint: proxy.endpoint })
  await follower.told('first', 'second', 'third')
})

test('what nobody understands causes a comparison, and no position is kept before it is done', async () => {
  await double.segment(hour, 'Publishing', ['00'])
  const positions = memoryPositions()
  await using follower = new Follower(positions.of('reader'))
  await follower.open()
  await follower.close()
  const [before] = [...positions.kept.values()]
  await using second = new Follower(positions.of('reader'))
  second.finishes = false
  expect(await second.open()).toBe(true)
  const restored = eventOf('/blobServices/default/containers/data', {
    eventType: 'RestorePointMarkerCreated',
  })
  const file = double.file('00', hour)
  await double.append(file, await double.bytes(file, [restored]))
  await until('everything is compared', () => second.everything === 1)
  await double.append(file, await double.bytes(file, [restored, double.event(created('a'))]))
  await second.told('a')
  expect([...positions.kept.values()]).toEqual([before])
  expect(second.everything).toBe(1)
})

test('a feed that is not enabled, may not be read or is not understood ends, and says why', async () => {
  await double.container.delete()
  await using disabled = new Follower()
  await expect(disabled.open()).rejects.toThrow(
    /change feed of account gantrytest.*not enabled.*--account-name gantrytest --enable-change-feed true/,
  )
  await expect(disabled.open()).rejects.toBeInstanceOf(WatchError)
  await double.enable()

  const path = `idx/segments/${hour}/meta.json`
  const paths = (chunkFilePaths: unknown) => ({ version: 0, status: 'Publishing', chunkFilePaths })
  for (const [name, content, message] of [
    [
      'meta/segments.json',
      { version: 1, lastConsumable: '2026-01-01T00:00:00Z' },
      /version 1, and 0 is known/,
    ],
    ['meta/segments.json', { version: 0, lastConsumable: 'now' }, /no lastConsumable/],
    ['meta/segments.json', { version: 0, lastConsumable: '+099999-01-01T00:00:00Z' }, /no lastConsumable/],
    ['meta/segments.json', 'x'.repeat(300_000), /no JSON of up to/],
    ['meta/segments.json', 'null', /no JSON object/],
    [path, { version: 7 }, /version 7/],
    [path, { ...paths([]), status: 'Other' }, /neither Publishing nor Finalized/],
    [path, paths('all'), /no chunkFilePaths/],
    [path, paths(Array.from({ length: 1_001 }, () => 'a')), /more than 1000/],
    [path, paths(['$blobchangefeed/log/../../data/']), /path of another form/],
    [path, paths(['$blobchangefeed/idx/']), /path of another form/],
    ['idx/segments/today/meta.json', {}, /another name than a time/],
  ] as const) {
    await double.put(name, content)
    await using follower = new Follower()
    const error = await follower.open().then(
      () => follower.ended(),
      (failure: Error) => failure,
    )
    expect(error, name).toBeInstanceOf(WatchError)
    expect(error.message).toMatch(message)
    await double.container.deleteBlob(name)
  }

  const good = await avroFile([eventOf('/a')])
  for (const [name, bytes, status, message] of [
    ['00000.avro', Buffer.from('PAR1'), 'Publishing', /no object container file/],
    ['00000.avro', Buffer.concat([good, Buffer.alloc(40, 0x7f)]), 'Publishing', /a block of/],
    ['00000.avro', good.subarray(0, -1), 'Finalized', /in the middle of a block/],
    ['00000.csv', good, 'Publishing', /file of another form/],
  ] as const) {
    await double.segment(hour, status, ['00'])
    await double.append(double.container.getAppendBlobClient(`log/00/${hour}/${name}`), bytes)
    await using follower = new Follower()
    await follower.open()
    const error = await follower.ended()
    expect(error).toBeInstanceOf(WatchError)
    expect(error.message).toMatch(message)
    await double.container.deleteBlob(`log/00/${hour}/${name}`)
  }

  // Files that were never begun.
  await double.tell(double.file('00', hour, 3), [created('a')])
  await using gap = new Follower()
  await gap.open()
  expect((await gap.ended()).message).toMatch(/a file of log\/00.* has gone/)
})

const sas = (permissions: string) =>
  generateAccountSASQueryParameters(
    {
      services: 'b',
      resourceTypes: 'co',
      permissions: AccountSASPermissions.parse(permissions),
      expiresOn: new Date(Date.now() + 3_600_000),
    },
    new StorageSharedKeyCredential(azurite.account, azurite.key),
  ).toString()

test('the option, by key and by signature', async () => {
  await azurite.service.getContainerClient('data').createIfNotExists()
  const { sharedKey, ...options } = { ...azuriteOptions(azurite, 'data'), changeFeed: true }
  for (const credentials of [{ sharedKey }, { sasToken: sas('rl') }]) {
    const driver = new Adls2Driver({ ...options, ...credentials })
    expect(await driver.changes?.check?.(never)).toBe(
      'blob change feed of account gantrytest, which is empty',
    )
    await double.consumable(hour)
    expect(await driver.changes?.check?.(never)).toBe(
      `blob change feed of account gantrytest, complete until ${hour.replaceAll('/', '-').replace(/-(\d\d)00$/, 'T$1:00:00.000Z')}`,
    )
    const feed = await driver.changes?.feed(Buffer.alloc(0))
    expect(feed).toMatchObject({ detection: 'notified', reason: expect.stringContaining('blob change feed') })
    await driver.close()
    await double.container.deleteBlob('meta/segments.json')
  }
  const lists = new Adls2Driver({ ...options, sasToken: sas('l') })
  await expect(lists.changes?.check?.(never)).rejects.toThrow(
    /the SAS allows sp=l, .*changeFeed needs the right to read blobs of the whole account/,
  )
  await lists.close()
  await double.container.delete()
  const driver = new Adls2Driver({ ...options, sharedKey })
  await expect(driver.changes?.check?.(never)).rejects.toMatchObject({
    failure: 'gone',
    message: expect.stringContaining('--enable-change-feed true'),
  })
  await driver.close()
})

test('options that do not go with it are refused by name', () => {
  const { sharedKey, ...options } = { ...azuriteOptions(azurite, 'data'), changeFeed: true }
  expect(() => new Adls2Driver({ ...options, sharedKey, eventQueue: 'changes' })).toThrow(
    /changeFeed is given besides eventQueue/,
  )
  expect(
    () => new Adls2Driver({ ...options, sasToken: 'sv=2021-12-02&sr=c&sp=rl&se=2030-01-01&sig=bXlrZXk=' }),
  ).toThrow(
    /sasToken is for the container alone: changeFeed needs the SAS of an account \(ss=b, srt=co, sp=rl\)/,
  )
  expect(new Adls2Driver({ ...options, sharedKey, changeFeed: false }).changes).toBeUndefined()
})
