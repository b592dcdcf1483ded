import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectAs } from '../../../broker/rpc/platform-connection.ts'
import { maxWatches } from '../../../services/extensions/storage.ts'
import { storageLimits } from '../../../subjects/extensions/storage.ts'
import { connectInside, issueInside } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { bareExtension, type BareExtension, capabilitiesOf } from '../../support/example-extension.ts'

let platform: TestPlatform
let weather: BareExtension
beforeAll(async () => {
  platform = await startTestPlatform()
  weather = await bareExtension(platform, 'weather')
  await weather.register()
})
afterAll(async () => {
  await weather[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
})

const ask = async (verb: string, input: object) => {
  const { status, body } = await weather.ask(`extension-storage.${verb}`, { prefix: 'weather', ...input })
  return { status, ...body } as { status: number; revision: number } & Record<string, unknown>
}

test('a value is what was stored, whatever its key is', async () => {
  for (const [key, value] of [
    ['last', '{"city":"Oslo"}'],
    ['a key/with. everything=%*>é 🌧', ''],
    ['text', 'Übung 🌧\n'],
  ] as const) {
    const { revision } = await ask('put', { key, value })
    expect(await ask('get', { key })).toEqual({ status: 200, key, value, revision })
  }
  expect(await ask('get', { key: 'nothing' })).toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

describe('compare and set', () => {
  test('only the value that is known is replaced', async () => {
    const { revision } = await ask('put', { key: 'cas', value: '1', revision: 0 })
    expect(await ask('put', { key: 'cas', value: '2', revision: 0 })).toMatchObject({
      status: 409,
      code: 'CONFLICT',
      details: { revision },
    })
    const second = await ask('put', { key: 'cas', value: '2', revision })
    expect(second.revision).toBeGreaterThan(revision)
    expect(await ask('put', { key: 'cas', value: '3', revision })).toMatchObject({
      status: 409,
      details: { revision: second.revision },
    })
    expect(await ask('delete', { key: 'cas', revision })).toMatchObject({ status: 409 })
    expect(await ask('delete', { key: 'cas', revision: second.revision })).toMatchObject({ status: 200 })
    expect(await ask('delete', { key: 'cas' })).toMatchObject({ status: 404 })
    expect(await ask('put', { key: 'cas', value: '4', revision: 0 })).toMatchObject({ status: 200 })
  })

  test('of many who count at the same time, none is lost', async () => {
    const none = { value: 0, revision: 0 }
    const count = async () => {
      for (;;) {
        const found = await ask('get', { key: 'count' })
        const known =
          found.status === 200 ? { value: Number(found['value']), revision: found.revision } : none
        const { status } = await ask('put', { ...known, key: 'count', value: String(known.value + 1) })
        if (status === 200) return
      }
    }
    await Promise.all(Array.from({ length: 8 }, count))
    expect(await ask('get', { key: 'count' })).toMatchObject({ value: '8' })
  })
})

test('keys are listed in order, with their revisions, page by page', async () => {
  const revisions: Record<string, number> = {}
  for (const key of ['list/b', 'list/a', 'list/c', 'list/gone'])
    revisions[key] = (await ask('put', { key, value: 'x' })).revision
  await ask('delete', { key: 'list/gone' })
  const page = async (more: object) => {
    const { body } = await weather.ask('extension-storage.list', {
      prefix: 'weather',
      beginning: 'list/',
      ...more,
    })
    const found = body as unknown as { key: string; revision: number }[]
    for (const { key, revision } of found) expect(revision).toBe(revisions[key])
    return found.map(({ key }) => key)
  }
  expect(await page({})).toEqual(['list/a', 'list/b', 'list/c'])
  expect(await page({ limit: 2 })).toEqual(['list/a', 'list/b'])
  expect(await page({ after: 'list/b' })).toEqual(['list/c'])
})

describe('watching', () => {
  test('so many wait for changes of one storage and no more, and the broker sends a change once', async () => {
    const { revision } = await ask('put', { key: 'many', value: '0' })
    const watches = Array.from({ length: maxWatches }, () =>
      ask('watch', { beginning: 'many', after: revision }),
    )
    const refused = await until('one too many is refused', async () => {
      const answer = await ask('watch', { beginning: 'many', after: revision, waitMs: 0 })
      return answer.status === 200 ? undefined : answer
    })
    expect(refused).toMatchObject({ status: 503, code: 'OVERLOADED' })
    const subscribed = async () => {
      const { connection, identity } = await connectInside(platform)
      await connection.close()
      const system = await connectAs('SYS', { url: platform.tcpUrl, identity, name: 'test' })
      const reply = await system.request(
        `$SYS.REQ.SERVER.${system.info!.server_id}.CONNZ`,
        JSON.stringify({ auth: true, subscriptions: true, limit: 1_024 }),
      )
      await system.close()
      const { data } = reply.json<{ data: { connections: { subscriptions_list?: string[] }[] } }>()
      return data.connections
        .flatMap(({ subscriptions_list = [] }) => subscriptions_list)
        .filter((subject) => subject === '$KV.extension-storage-weather.>')
    }
    expect(await subscribed()).toHaveLength(1)
    const changed = await ask('put', { key: 'many', value: '1' })
    for (const answer of await Promise.all(watches))
      expect(answer).toMatchObject({ changes: [{ key: 'many', value: '1', revision: changed.revision }] })
    expect(await subscribed()).toHaveLength(0)
  })

  test('tells what is there, then each change, and deletions', async () => {
    const { revision } = await ask('put', { key: 'watch/a', value: '1' })
    const first = await ask('watch', { beginning: 'watch/' })
    expect(first).toMatchObject({ changes: [{ key: 'watch/a', value: '1', revision }], revision })

    const waiting = ask('watch', { beginning: 'watch/', after: first.revision })
    await ask('put', { key: 'other', value: 'not asked for' })
    const second = await ask('put', { key: 'watch/b', value: '2' })
    expect(await waiting).toMatchObject({
      changes: [{ key: 'watch/b', value: '2', revision: second.revision }],
      revision: second.revision,
    })

    await ask('delete', { key: 'watch/a' })
    const { changes } = await ask('watch', { beginning: 'watch/', after: second.revision })
    expect(changes).toEqual([{ key: 'watch/a', revision: expect.any(Number) }])
  })

  test('ends with nothing when nothing changes', async () => {
    const { revision } = await ask('put', { key: 'quiet', value: '1' })
    expect(await ask('watch', { after: revision, waitMs: 20 })).toEqual({
      status: 200,
      changes: [],
      revision,
    })
  })

  test('misses nothing of much, in answers that fit', async () => {
    const value = 'x'.repeat(storageLimits.valueLength)
    const { revision } = await ask('put', { key: 'much/0', value })
    for (let index = 1; index < 12; index++) await ask('put', { key: `much/${index}`, value })
    const seen: string[] = []
    let after = revision - 1
    await until('all are told', async () => {
      const answer = await ask('watch', { beginning: 'much/', after })
      after = answer.revision
      seen.push(...(answer['changes'] as { key: string }[]).map(({ key }) => key))
      return seen.length >= 12
    })
    expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => `much/${index}`))
    for (const key of seen) await ask('delete', { key })
  })
})

test('a storage has its limits', async () => {
  const over = 'x'.repeat(storageLimits.valueLength + 1)
  expect(await ask('put', { key: 'large', value: over })).toMatchObject({
    status: 400,
    code: 'INVALID_INPUT',
  })
  expect(await ask('put', { key: 'x'.repeat(201), value: '' })).toMatchObject({ status: 400 })
  expect(await ask('put', { key: 'half \ud83d', value: '' })).toMatchObject({ status: 400 })
  const value = 'x'.repeat(storageLimits.valueLength)
  const fill = (index: number) => ask('put', { key: `full/${index}`, value })
  const answers: Awaited<ReturnType<typeof fill>>[] = []
  // Many at a time, as it is 64 MiB.
  for (let from = 0; from < 270; from += 30)
    answers.push(...(await Promise.all(Array.from({ length: 30 }, (_, index) => fill(from + index)))))
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(200)
  const full = await fill(300)
  expect(full).toMatchObject({ status: 507, code: 'STORAGE_FULL' })
  expect(full['message']).toContain('the storage of weather is full (67108864 bytes)')
  // What is there can be replaced by what is no larger, and by what there is room for.
  expect(await ask('put', { key: 'full/0', value })).toMatchObject({ status: 200 })
  expect(await ask('put', { key: 'quiet', value })).toMatchObject({ status: 507 })
  expect(await ask('put', { key: 'full/0', value: value.slice(1) })).toMatchObject({ status: 200 })
  // What has no value takes room for its name.
  const named = (index: number) => ask('put', { key: `${index}`.padEnd(200, '€'), value: '' })
  const names: Awaited<ReturnType<typeof named>>[] = []
  for (let from = 0; names.at(-1)?.status !== 507 && from < 400; from += 40)
    names.push(...(await Promise.all(Array.from({ length: 40 }, (_, index) => named(from + index)))))
  expect(names.at(-1)).toMatchObject({ status: 507, code: 'STORAGE_FULL' })
  // Another one has its own.
  await using other = await bareExtension(platform, 'roomy')
  await other.register()
  const input = { prefix: 'roomy', key: 'a', value: 'b' }
  expect((await other.ask('extension-storage.put', input)).status).toBe(200)
})

describe('of another extension', () => {
  const verbs = {
    get: { key: 'last' },
    put: { key: 'last', value: '' },
    delete: { key: 'last' },
    list: {},
    watch: { waitMs: 10 },
  }

  test('a key for another prefix reaches nothing', async () => {
    await using other = await bareExtension(platform, 'curious')
    await other.register()
    for (const [verb, input] of Object.entries(verbs))
      expect(
        await other.ask(`extension-storage.${verb}`, { prefix: 'weather', ...input }),
        verb,
      ).toMatchObject({ status: 403, body: { code: 'DENIED' } })
  })

  test('nor does a wide key of another owner', async () => {
    const { pub } = capabilitiesOf('x')
    const { token } = await issueInside(platform, {
      capabilities: { pub, sub: { allow: ['gantry.extensions.>'] } },
      visible_extensions: ['*'],
    })
    await using other = await bareExtension(platform, 'weather', { token })
    for (const [verb, input] of Object.entries(verbs))
      expect(
        await other.ask(`extension-storage.${verb}`, { prefix: 'weather', ...input }),
        verb,
      ).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  })

  test('nothing is stored for a prefix that nobody has registered', async () => {
    await using early = await bareExtension(platform, 'early')
    const input = { prefix: 'early', key: 'a', value: 'b' }
    expect(await early.ask('extension-storage.put', input)).toMatchObject({ status: 404 })
  })

  test('who gives a prefix up leaves nothing behind', async () => {
    await using brief = await bareExtension(platform, 'brief')
    await brief.register({ instance: 'one' })
    await brief.ask('extension-storage.put', { prefix: 'brief', key: 'secret', value: 'x' })
    const release = () => platform.rest('platform', 'DELETE', '/api/v1/extensions/brief')
    expect(await release()).toMatchObject({ status: 409, body: { code: 'IN_USE' } })
    await brief.ask('extensions.deregister', { prefix: 'brief', instance: 'one' })
    expect((await release()).status).toBe(200)
    expect((await release()).status).toBe(404)
    const { token } = await issueInside(platform, { capabilities: capabilitiesOf('brief') })
    await using next = await bareExtension(platform, 'brief', { token })
    await next.register()
    expect((await next.ask('extension-storage.get', { prefix: 'brief', key: 'secret' })).status).toBe(404)
  })
})
