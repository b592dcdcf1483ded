import type { ContainerClient } from '@azure/storage-blob'
import { hash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { blobEndpoint } from '../../../../services/drivers/azure-blob/endpoint.ts'
import { bodyOf, contentOf, failureOf, listAll, pattern } from '../../../conformance/driver-store.ts'
import { azuriteOptions, openAzure, openClient } from '../../../support/azure-driver.ts'
import { type Azurite, containerName, sharedAzurite } from '../../../support/azurite.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await sharedAzurite()
})

/** A container of its own, seen by the driver and by Microsoft's client. */
async function newContainer(properties: Record<string, string> = {}) {
  const name = containerName()
  await azurite.createContainer(name)
  const options = azuriteOptions(azurite, name)
  const driver = openAzure(options, properties)
  const theirs = azurite.service.getContainerClient(name)
  return { driver, theirs, options, [Symbol.asyncDispose]: () => driver.close() }
}

const write = (theirs: ContainerClient, name: string, content = '', metadata: Record<string, string> = {}) =>
  theirs.getBlockBlobClient(name).upload(content, content.length, { metadata })

test('Microsoft’s client reads what the driver wrote: content, digest, type, time, mode', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  const content = pattern(10_000)
  const path = 'folder/ünï "code" 100% #1+2 o\'neil?\n&<end> '
  await driver.makeFolder(Buffer.from('folder'), { mode: 0o755 })
  await driver.put(Buffer.from(path), content, { modifiedMs: 1_700_000_000_123.5, mode: 0o640 })
  const blob = theirs.getBlobClient(path)
  expect((await blob.downloadToBuffer()).equals(content)).toBe(true)
  const properties = await blob.getProperties()
  expect(properties.metadata).toEqual({
    mtime: '2023-11-14T22:13:20.123500000Z',
    permissions: String(0o100640),
  })
  expect(Buffer.from(properties.contentMD5 ?? []).toString('hex')).toBe(hash('md5', content, 'hex'))
  expect(properties.blobType).toBe('BlockBlob')
  expect(properties.contentType).toBe('application/octet-stream')
  const marker = await theirs.getBlobClient('folder').getProperties()
  expect(marker.metadata).toEqual({ hdi_isfolder: 'true', permissions: String(0o040755) })
  expect(marker.contentLength).toBe(0)
  const names: string[] = []
  for await (const { name } of theirs.listBlobsFlat()) names.push(name)
  expect(names).toEqual(['folder', path])
})

test('Microsoft’s client reads what the driver wrote in parts', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  const content = pattern(3_000)
  const upload = await driver.beginUpload(Buffer.from('file'), {
    sizeBytes: content.length,
    tag: 'test-tag',
    attributes: {},
  })
  for (const index of [2, 0, 1]) {
    await driver.writePart(
      upload,
      index,
      index * 1_000,
      bodyOf(content.subarray(index * 1_000, (index + 1) * 1_000)),
    )
  }
  await driver.commitUpload(upload, 3, { modifiedMs: 1_000, mode: 0o600 })
  expect((await theirs.getBlobClient('file').downloadToBuffer()).equals(content)).toBe(true)
  const blocks = await theirs.getBlockBlobClient('file').getBlockList('all')
  expect(blocks.committedBlocks?.map(({ size }) => size)).toEqual([1_000, 1_000, 1_000])
  expect(blocks.uncommittedBlocks ?? []).toEqual([])
  const { metadata, contentType } = await theirs.getBlobClient('file').getProperties()
  expect(metadata).toEqual({ mtime: '1970-01-01T00:00:01.000000000Z', permissions: String(0o100600) })
  expect(contentType).toBe('application/octet-stream')
})

test('a digest of what is written to in place is not that of its content, and of no use', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  const [before, after] = [pattern(512), Buffer.alloc(512, 'x')]
  const blobHTTPHeaders = { blobContentMD5: hash('md5', before, 'buffer') }
  const page = theirs.getPageBlobClient('page')
  await page.create(512, { blobHTTPHeaders })
  for (const content of [before, after]) await page.uploadPages(content, 0, 512)
  const append = theirs.getAppendBlobClient('append')
  await append.create({ blobHTTPHeaders })
  await append.appendBlock(after, 512)
  // The service leaves it as it is.
  expect((await page.getProperties()).contentMD5).toEqual(blobHTTPHeaders.blobContentMD5)
  await theirs.getBlockBlobClient('whole').upload(after, 512)
  const listed = await listAll(driver, Buffer.alloc(0))
  for (const name of ['append', 'page', 'whole']) {
    const digests = name === 'whole' ? { md5: hash('md5', after, 'base64') } : undefined
    expect((await driver.stat(Buffer.from(name)))?.digests, name).toEqual(digests)
    expect(listed.find((entry) => entry.name.toString() === name)?.digests, name).toEqual(digests)
  }
})

test('times and modes that other tools stored are understood', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  await write(theirs, 'rclone', 'x', { mtime: '2020-02-03T04:05:06.789012345+01:00' })
  await write(theirs, 'azcopy', 'x', { modtime: '1580699106789012345', permissions: String(0o100755) })
  await write(theirs, 'nonsense', 'x', { mtime: 'yesterday', modtime: 'x', permissions: 'rw-r--r--' })
  await write(theirs, 'plain', 'x')
  const entries = new Map(
    (await listAll(driver, Buffer.alloc(0))).map((entry) => [entry.name.toString(), entry]),
  )
  expect(entries.get('rclone')?.modifiedMs).toBeCloseTo(Date.parse('2020-02-03T03:05:06.789Z') + 0.012345, 3)
  expect(entries.get('azcopy')).toMatchObject({ mode: 0o755 })
  expect(entries.get('azcopy')?.modifiedMs).toBeCloseTo(1_580_699_106_789.012, 2)
  for (const name of ['nonsense', 'plain']) {
    const { lastModified } = await theirs.getBlobClient(name).getProperties()
    expect(entries.get(name)?.modifiedMs).toBe(lastModified?.getTime())
    expect(entries.get(name)).not.toHaveProperty('mode')
  }
})

test('folders of every making are one entry each', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  await write(theirs, 'prefix only/deep/file', 'x')
  await write(theirs, 'marker', '', { Hdi_isfolder: 'true' })
  await write(theirs, 'both', '', { hdi_isfolder: 'true' })
  await write(theirs, 'both/file', 'x')
  await write(theirs, 'slash/')
  await write(theirs, 'slash/file', 'x')
  const entries = await listAll(driver, Buffer.alloc(0))
  expect(entries.map(({ name, type }) => `${type} ${name.toString()}`).toSorted()).toEqual([
    'folder both',
    'folder marker',
    'folder prefix only',
    'folder slash',
  ])
  expect(await listAll(driver, Buffer.from('marker'))).toEqual([])
  for (const name of ['both', 'slash']) expect(await listAll(driver, Buffer.from(name))).toHaveLength(1)
  expect((await driver.stat(Buffer.from('prefix only')))?.type).toBe('folder')
  expect(await failureOf(driver.open(Buffer.from('prefix only/deep')))).toBe('unsupported')
})

test('a folder that shows twice, on two pages, is one entry', async () => {
  const siblings = [
    'a',
    'a ',
    'a!',
    'a-1',
    'a.b',
    'a/1',
    'a/2',
    'a/3',
    'a0',
    'b',
    'b-/x',
    'b/x',
    'c/1',
    'c/2',
  ]
  for (const pageSize of [1, 2, 3, 5]) {
    await using container = await newContainer({ 'fs.azure.list.max.results': String(pageSize) })
    const { driver, theirs } = container
    for (const name of siblings) {
      await write(theirs, name, '', ['a', 'b'].includes(name) ? { hdi_isfolder: 'true' } : {})
    }
    const names = (await listAll(driver, Buffer.alloc(0))).map(({ name }) => name.toString())
    expect(names.toSorted()).toEqual(['a', 'a ', 'a!', 'a-1', 'a.b', 'a0', 'b', 'b-', 'c'])
  }
})

test('nothing that a flat namespace can hold goes unseen', async () => {
  await using container = await newContainer()
  const { driver, options } = container
  // Microsoft's client takes the dots for directions.
  using client = openClient(blobEndpoint(options), options)
  for (const blob of ['twice', 'twice/file', 'odd//file', 'odd/../up', 'odd/.', 'odd/dot./file']) {
    const store = { 'x-ms-blob-type': 'BlockBlob' }
    await client.request({ method: 'PUT', blob, body: Buffer.from('content'), store, what: () => blob })
  }
  const kinds = async (folder: string) =>
    (await listAll(driver, Buffer.from(folder)))
      .map(({ name, type }) => `${type} ${name.toString()}`)
      .toSorted()
  expect(await kinds('')).toEqual(['file twice', 'folder odd', 'folder twice'])
  expect(await kinds('odd')).toEqual(['folder dot.', 'other ', 'other .', 'other ..'])
  expect((await contentOf(driver, Buffer.from('odd/dot./file'))).toString()).toBe('content')
})

test('content that does not have the digest it came with is refused by the service, and nothing appears', async () => {
  await using container = await newContainer()
  const { driver, options } = container
  using client = openClient(blobEndpoint(options), options)
  const contentMd5 = hash('md5', 'what was meant', 'base64')
  const body = Buffer.from('what arrived')
  const store = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-md5': contentMd5 }
  const put = client.request({ method: 'PUT', blob: 'file', body, contentMd5, store, what: () => 'put' })
  expect(['corrupt', 'io']).toContain(await failureOf(put))
  const query = { blockid: 'AAAA', comp: 'block' }
  const block = client.request({ method: 'PUT', blob: 'file', query, body, contentMd5, what: () => 'put' })
  expect(['corrupt', 'io']).toContain(await failureOf(block))
  expect(await driver.stat(Buffer.from('file'))).toBeUndefined()
})

test('blocks that another program left over do not stop an upload', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  for (const idBytes of [8, 16, 48, 64]) {
    const name = `left ${idBytes}`
    const id = Buffer.alloc(idBytes, 7).toString('base64')
    await theirs.getBlockBlobClient(name).stageBlock(id, 'left over', 9)
    const upload = await driver.beginUpload(Buffer.from(name), {
      sizeBytes: 5,
      tag: 'test-tag',
      attributes: {},
    })
    await driver.writePart(upload, 0, 0, bodyOf(Buffer.from('fresh')))
    await driver.commitUpload(upload, 1, {})
    expect((await theirs.getBlobClient(name).downloadToBuffer()).toString()).toBe('fresh')
  }
  await theirs.getBlockBlobClient('short').stageBlock(Buffer.from('1').toString('base64'), 'x', 1)
  await expect(
    driver.beginUpload(Buffer.from('short'), { sizeBytes: 5, tag: 'test-tag', attributes: {} }),
  ).rejects.toThrow(/\/short .*uncommitted blocks/)
})

test('a blob of another type is replaced by put, and stops an upload in parts with a clear error', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  await theirs.getAppendBlobClient('log').create()
  await driver.put(Buffer.from('log'), Buffer.from('block'), {})
  expect((await theirs.getBlobClient('log').getProperties()).blobType).toBe('BlockBlob')
  await theirs.getAppendBlobClient('append').create()
  const attempt = async () => {
    const upload = await driver.beginUpload(Buffer.from('append'), {
      sizeBytes: 1,
      tag: 'test-tag',
      attributes: {},
    })
    await driver.writePart(upload, 0, 0, bodyOf(Buffer.from('x')))
  }
  expect(await failureOf(attempt())).toBe('unsupported')
})

test('a blob under lease is not ours to touch', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  await write(theirs, 'leased', 'x')
  await theirs.getBlobClient('leased').getBlobLeaseClient().acquireLease(15)
  const put = driver.put(Buffer.from('leased'), Buffer.from('y'), {})
  expect(await failureOf(put)).toBe('permission')
})

test('folders are removed in every way that tools mark them; a snapshot is not ours to touch', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  const names = async () => (await Array.fromAsync(theirs.listBlobsFlat())).map(({ name }) => name).toSorted()
  await write(theirs, 'slash/')
  await write(theirs, 'both', '', { hdi_isfolder: 'true' })
  await write(theirs, 'both/')
  await write(theirs, 'implied/file', 'x')
  await write(theirs, 'twin', 'a file beside blobs below it')
  await write(theirs, 'twin/file', 'x')
  for (const name of ['slash', 'both', 'twin']) expect(await driver.remove(Buffer.from(name))).toBe(true)
  expect(await failureOf(driver.remove(Buffer.from('implied')))).toBe('unsupported')
  expect(await names()).toEqual(['implied/file', 'twin/file'])
  expect(await driver.remove(Buffer.from('implied/file'))).toBe(true)
  expect(await driver.remove(Buffer.from('implied'))).toBe(false)
  await write(theirs, 'kept', 'x')
  await theirs.getBlobClient('kept').createSnapshot()
  expect(await failureOf(driver.remove(Buffer.from('kept')))).toBe('permission')
})

test('other attributes leave the metadata of other tools; the store tells when it made and wrote a blob', async () => {
  await using container = await newContainer()
  const { driver, theirs } = container
  await write(theirs, 'file', 'x', { theirs: 'kept', mtime: '2020-02-03T04:05:06Z' })
  await driver.setAttributes(Buffer.from('file'), { modifiedMs: 1_000, mode: 0o600 })
  const { metadata, createdOn, lastModified } = await theirs.getBlobClient('file').getProperties()
  expect(metadata).toEqual({
    theirs: 'kept',
    mtime: '1970-01-01T00:00:01.000000000Z',
    permissions: String(0o100600),
  })
  const [entry] = await listAll(driver, Buffer.alloc(0))
  expect(entry).toMatchObject({ createdMs: createdOn?.getTime(), writtenMs: lastModified?.getTime() })
})
