import { expect, test } from 'vitest'
import { listAll } from '../../../conformance/driver-store.ts'
import { azuriteOptions, openAzure } from '../../../support/azure-driver.ts'
import { startAzurite } from '../../../support/azurite.ts'

test('a listing of more than 5,000 blobs comes whole, page by page', { timeout: 120_000 }, async () => {
  await using azurite = await startAzurite()
  await azurite.createContainer('container')
  await using driver = openAzure(azuriteOptions(azurite, 'container'))
  const count = 5_100
  await driver.makeFolder(Buffer.from('many'), {})
  const numbers = Array.from({ length: count }, (_, i) => i).values()
  const lane = async () => {
    for (const i of numbers) await driver.put(Buffer.from(`many/${i}`), Buffer.alloc(0), {})
  }
  await Promise.all(Array.from({ length: driver.capabilities.concurrency }, lane))
  const names = (await listAll(driver, Buffer.from('many'))).map(({ name }) => Number(name.toString()))
  expect(new Set(names).size).toBe(count)
  expect(names).toHaveLength(count)
})
