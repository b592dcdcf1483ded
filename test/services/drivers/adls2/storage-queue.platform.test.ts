import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Adls2Driver } from '../../../../services/drivers/adls2/adls2.ts'
import { StorageQueue } from '../../../../services/drivers/adls2/storage-queue.ts'
import { BlobClient } from '../../../../services/drivers/azure-blob/client.ts'
import { type Authorizer, SharedKeySigner } from '../../../../services/drivers/azure-blob/signing.ts'
import { SharedAccessSignature } from '../../../../services/drivers/azure-blob/sas.ts'
import type { QueueMessage } from '../../../../services/drivers/notifications/message-queue.ts'
import { endpointOf } from '../../../../services/drivers/http/client-credentials.ts'
import { never } from '../../../conformance/driver-store.ts'
import { azuriteOptions } from '../../../support/azure-driver.ts'
import {
  type AzuriteQueues,
  type Azurite,
  sharedAzurite,
  startAzuriteQueues,
} from '../../../support/azurite.ts'

let azurite: Azurite
let queues: AzuriteQueues
beforeAll(async () => {
  azurite = await sharedAzurite()
  queues = await startAzuriteQueues(azurite)
})
afterAll(() => queues[Symbol.asyncDispose]())

const limits = {
  connectTimeoutMs: 2_000,
  idleTimeoutMs: 5_000,
  connections: 8,
  retries: 1,
  minBackoffMs: 1,
  maxBackoffMs: 10,
}

function openQueue(name: string, authorizer?: Authorizer): StorageQueue & Disposable {
  const url = new URL(`${queues.url}/${name}`)
  const endpoint = { ...endpointOf(url), containerPath: url.pathname }
  const signer = authorizer ?? new SharedKeySigner(azurite.account, azurite.key)
  const queue = new StorageQueue(url.href, new BlobClient(endpoint, signer, limits))
  return Object.assign(queue, { [Symbol.dispose]: () => queue.close() })
}

const bodies = (messages: readonly (QueueMessage | undefined)[]) =>
  messages.map((message) => message?.body ?? '').toSorted((a, b) => (a < b ? -1 : 1))

const sas = (services: string, permissions: string) =>
  generateAccountSASQueryParameters(
    {
      services: AccountSASServices.parse(services).toString(),
      resourceTypes: AccountSASResourceTypes.parse('co').toString(),
      permissions: AccountSASPermissions.parse(permissions),
      expiresOn: new Date(Date.now() + 3_600_000),
    },
    new StorageSharedKeyCredential(azurite.account, azurite.key),
  ).toString()

test('messages are received, hidden again and removed; those that are gone are no errors', async () => {
  const client = queues.service.getQueueClient('messages')
  await client.create()
  const texts = Array.from({ length: 40 }, (_, index) => `text ${String(index).padStart(2, '0')} <&> ü`)
  for (const text of texts) await client.sendMessage(text.replace('<&>', '&lt;&amp;&gt;'))
  using queue = openQueue('messages')
  const { stream, keepsMs } = await queue.identify(never)
  expect([stream, keepsMs]).toEqual([`${queues.url}/messages`, 7 * 24 * 3_600_000])
  const sentMs = Date.now()
  const [first, second] = await Promise.all([queue.receive(never), queue.receive(never)])
  expect([first.length, second.length]).toEqual([32, 8])
  for (const message of first) expect(Math.abs(message.sentMs - sentMs)).toBeLessThan(60_000)
  const hidden = await queue.hide(second)
  expect(bodies(hidden)).toEqual(bodies(second))
  expect(hidden.map((message) => message?.receipt)).not.toEqual(second.map(({ receipt }) => receipt))
  // With the receipts of before nobody removes what was hidden again.
  await queue.remove(second)
  expect((await client.getProperties()).approximateMessagesCount).toBe(40)
  await queue.remove([...first, ...hidden.filter((message) => message !== undefined)])
  expect((await client.getProperties()).approximateMessagesCount).toBe(0)
  expect(await queue.hide(first.slice(0, 2))).toEqual([undefined, undefined])
  expect(await queue.receive(never)).toEqual([])
})

test('a queue that is not there, and credentials that are wrong', async () => {
  using missing = openQueue('missing')
  await expect(missing.identify(never)).rejects.toMatchObject({
    failure: 'gone',
    message: expect.stringContaining('create the queue or correct eventQueue'),
  })
  await expect(missing.receive(never)).rejects.toMatchObject({ failure: 'gone' })
  await expect(missing.remove([{ body: '', sentMs: 0, receipt: 'messages/x y' }])).rejects.toMatchObject({
    failure: 'gone',
  })
  const wrong = new SharedKeySigner(azurite.account, Buffer.from('wrong').toString('base64'))
  using refused = openQueue('missing', wrong)
  await expect(refused.identify(never)).rejects.toMatchObject({ failure: 'refused' })
})

test('by the signature of an account', async () => {
  const client = queues.service.getQueueClient('by-signature')
  await client.create()
  await client.sendMessage('text')
  const options = { directory: '', insecure: true }
  using queue = openQueue('by-signature', new SharedAccessSignature(sas('bq', 'rlup'), options))
  await queue.identify(never)
  const received = await queue.receive(never)
  const hidden = await queue.hide(received)
  expect(bodies(hidden)).toEqual(['text'])
  await queue.remove(hidden.filter((message) => message !== undefined))
  expect((await client.getProperties()).approximateMessagesCount).toBe(0)
})

test('options that do not go with a queue are refused by name', () => {
  const { sharedKey: _, ...options } = azuriteOptions(azurite, 'data')
  const bySas = (sasToken: string) => new Adls2Driver({ ...options, sasToken, eventQueue: 'changes' })
  expect(() => bySas(sas('b', 'rl'))).toThrow(
    /sasToken is not for the Queue service: .* \(ss=bq, srt=co, sp=rlup\)/,
  )
  expect(() => bySas(sas('bq', 'rlup'))).not.toThrow()
  const secure = { ...azuriteOptions(azurite, 'data'), insecure: false }
  expect(() => new Adls2Driver({ ...secure, eventQueue: 'http://queue.example/changes' })).toThrow(
    /eventQueue is not https/,
  )
})

test('a name is that of a queue of the same account', async () => {
  const nameOf = async (options: object) => {
    const driver = new Adls2Driver({
      accountName: 'lake',
      sharedKey: 'bXlrZXk=',
      containerName: 'data',
      ...options,
    })
    const feed = await driver.changes?.feed(Buffer.alloc(0))
    await driver.close()
    return feed !== undefined && 'reason' in feed ? feed.reason : undefined
  }
  expect(await nameOf({})).toBeUndefined()
  expect(await nameOf({ eventQueue: 'changes' })).toBe(
    'notifications in queue https://lake.queue.core.windows.net/changes',
  )
  expect(await nameOf({ eventQueue: 'changes', endpoint: 'gateway.example:8443' })).toBe(
    'notifications in queue https://gateway.example:8443/lake/changes',
  )
  expect(await nameOf({ eventQueue: 'https://other.queue.core.windows.net/changes' })).toBe(
    'notifications in queue https://other.queue.core.windows.net/changes',
  )
})
