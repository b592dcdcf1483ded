import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { Collection } from '../../../broker/state/collection.ts'
import { startTestPlatform } from '../../support/platform.ts'
import { connectAs } from '../../../broker/rpc/platform-connection.ts'
import { loadPlatformConfig } from '../../../config/platform.ts'
import { testLog } from '../../support/platform.ts'

test('a list misses nothing and waits for nothing while others write and delete', async () => {
  await using platform = await startTestPlatform()
  const limits = { maxMemBytes: 64 * 2 ** 20, maxFileBytes: 2 ** 30 }
  const { identity } = await loadPlatformConfig(platform.home, limits, testLog)
  const connection = await connectAs('PLATFORM', { url: platform.tcpUrl, identity, name: 'test' })
  const open = () =>
    Collection.open(connection, { bucket: 'numbers', schema: Type.Object({ n: Type.Integer() }), version: 1 })
  const [reader, writer] = await Promise.all([open(), open()])
  for (let n = 0; n < 50; n++) await writer.create(`kept-${n}`, { n })
  const end = new AbortController()
  const writing = (async () => {
    for (let n = 0; !end.signal.aborted; n++) {
      await writer.put(`kept-${n % 50}`, { n })
      await writer.put('fleeting', { n })
      await writer.delete('fleeting')
    }
  })()
  for (let round = 0; round < 100; round++) {
    const kept = (await reader.list()).length
    expect(kept).toBeGreaterThanOrEqual(50)
    expect(kept).toBeLessThanOrEqual(51)
  }
  end.abort()
  await writing
  await connection.close()
})
