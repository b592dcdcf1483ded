import { expect, test } from 'vitest'
import { noticesOf, noticesOfRecord } from '../../../../services/drivers/adls2/events.ts'

const time = '2026-06-26T18:41:00.958Z'
const timeMs = Date.parse(time)

const event = (type: string, path: string, data: object = {}) => ({
  topic: '/subscriptions/s/resourceGroups/Storage/providers/Microsoft.Storage/storageAccounts/lake',
  subject: `/blobServices/default/containers/data/blobs/${path}`,
  eventType: `Microsoft.Storage.${type}`,
  eventTime: time,
  id: '831e1650-001e-001b-66ab-eeb76e069631',
  data,
  dataVersion: '2',
  metadataVersion: '1',
})
const encoded = (json: unknown) => Buffer.from(JSON.stringify(json)).toString('base64')
const keysOf = (json: unknown) => noticesOf(encoded(json))?.map(({ key }) => key)

test('both schemas, in base64 and as they are', () => {
  const wanted = [{ bucket: 'data', key: 'a/b.txt', timeMs }]
  const created = event('BlobCreated', 'a/b.txt')
  const { subject } = created
  const cloud = { specversion: '1.0', type: 'Microsoft.Storage.BlobDeleted', source: '/s', subject, time }
  for (const json of [
    created,
    cloud,
    [created],
    { ...created, eventType: 'Microsoft.Storage.DirectoryCreated' },
  ]) {
    expect(noticesOf(encoded(json))).toEqual(wanted)
    expect(noticesOf(` ${JSON.stringify(json)}`)).toEqual(wanted)
  }
})

test('names as they are, and decoded where they may be encoded', () => {
  expect(keysOf(event('BlobCreated', 'ü/ß'))).toEqual([Buffer.from('ü/ß').toString('latin1')])
  expect(keysOf(event('BlobCreated', 'a%20b'))).toEqual(['a%20b', 'a b'])
  expect(keysOf(event('BlobCreated', '100%'))).toEqual(['100%'])
  expect(keysOf(event('BlobCreated', 'blobs/a/blobs/b'))).toEqual(['blobs/a/blobs/b'])
})

test('of a name that Event Grid could not tell, the folder is looked through', () => {
  const path = 'a/b/log_\ufffd\ufffd.txt'
  expect(noticesOf(encoded(event('BlobCreated', path)))).toEqual([
    { bucket: 'data', key: 'a/b', isTree: true, timeMs },
  ])
  expect(noticesOf(encoded(event('BlobCreated', '\ufffd')))).toEqual([
    { bucket: 'data', key: '', isTree: true, timeMs },
  ])
})

test('renamed files and folders are looked for under both names', () => {
  const data = {
    sourceUrl: 'https://lake.dfs.core.windows.net/data/old',
    destinationUrl: 'https://lake.dfs.core.windows.net/other/new',
  }
  const shared = { timeMs, isTree: true }
  expect(noticesOf(encoded(event('DirectoryRenamed', 'new', data)))).toEqual([
    { bucket: 'data', key: 'new', ...shared },
    { bucket: 'data', key: 'old', ...shared },
    { bucket: 'other', key: 'new', ...shared },
  ])
  expect(keysOf(event('BlobRenamed', 'new', data))).toEqual(['new', 'old', 'new'])
  expect(noticesOf(encoded(event('DirectoryDeleted', 'a')))).toEqual([
    { bucket: 'data', key: 'a', ...shared },
  ])
})

test('what changes no content says nothing', () => {
  for (const type of ['BlobTierChanged', 'AsyncOperationInitiated', 'LifecyclePolicyCompleted'])
    expect(keysOf(event(type, 'a'))).toEqual([])
  expect(keysOf({ eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent', data: {} })).toEqual([])
})

test('what is no such message is not understood, and nothing is thrown', () => {
  const others = [null, 1, 'a', [null], {}, [[]], { eventType: 1 }, { eventType: 'Other.BlobCreated' }]
  const broken = [
    event('BlobCreated', ''),
    { ...event('BlobCreated', 'a'), subject: 7 },
    { ...event('BlobCreated', 'a'), subject: '/blobServices/default/containers/data' },
    event('BlobRenamed', 'a'),
    { ...event('BlobRenamed', 'a'), data: null },
    event('BlobRenamed', 'a', { sourceUrl: 'file:///x', destinationUrl: 5 }),
    [event('BlobCreated', 'a'), {}],
  ]
  for (const json of [...others, ...broken]) expect(noticesOf(encoded(json))).toBeUndefined()
  for (const text of ['', '{', '[', '%%%', '\0', '['.repeat(60_000)]) expect(noticesOf(text)).toBeUndefined()
  const undated = noticesOf(encoded({ ...event('BlobCreated', 'a'), eventTime: 'never' }))
  expect(undated?.[0]?.timeMs).toBeGreaterThan(timeMs)
})

test('records of the change feed: whatever tells of a blob, with or without its content', () => {
  const record = (eventType: string, path = 'a/b') => ({ ...event('', path), eventType })
  for (const type of [
    'BlobCreated',
    'BlobDeleted',
    'BlobPropertiesUpdated',
    'BlobTierChanged',
    'NewInTenYears',
  ])
    expect(noticesOfRecord(record(type)), type).toEqual([{ bucket: 'data', key: 'a/b', timeMs }])
  expect(noticesOfRecord(record('DirectoryDeleted'))).toEqual([
    { bucket: 'data', key: 'a/b', timeMs, isTree: true },
  ])
  const data = { sourceUrl: 'https://l/data/old', destinationUrl: 'https://l/data/a/b' }
  expect(noticesOfRecord({ ...record('BlobRenamed'), data })?.map(({ key }) => key)).toEqual([
    'a/b',
    'old',
    'a/b',
  ])
  expect(noticesOfRecord(record('Control', ''))).toEqual([])
  expect(noticesOfRecord(record('RestorePointMarkerCreated', ''))).toBeUndefined()
  for (const other of [null, 7, 'text', {}, { eventType: 5 }, { eventType: 'BlobCreated', subject: 7 }])
    expect(noticesOfRecord(other)).toBeUndefined()
})
