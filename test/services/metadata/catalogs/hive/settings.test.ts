import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { HiveCatalog } from '../../../../../services/metadata/catalogs/hive/hive.ts'
import { BinaryReader, BinaryWriter } from '../../../../../services/metadata/thrift/binary.ts'
import { list, struct, type ThriftType } from '../../../../../services/metadata/thrift/types.ts'
import { listenOnLoopback } from '../../../../support/loopback.ts'

const never = new AbortController().signal
const question = struct({ name: [1, 'string'] })
const event = struct({ eventId: [1, 'i64'] })

/** A metastore that takes each of its settings for not set when it is asked for it the first time. */
async function forgetfulDouble(settings: Readonly<Record<string, string>>) {
  const asked = new Set<string>()
  const answers: Record<string, (setting: string) => [ThriftType, unknown]> = {
    set_ugi: () => [list('string'), []],
    get_config_value: (setting) => {
      const isKnown = asked.has(setting)
      asked.add(setting)
      return ['string', isKnown ? (settings[setting] ?? '') : '']
    },
    get_current_notificationEventId: () => [event, { eventId: 7n }],
  }
  const server = createServer((socket) =>
    socket
      .on('data', (bytes) => {
        const reader = new BinaryReader(bytes, 4)
        const name = reader.string()
        const sequence = reader.i32()
        const { name: setting = '' } = reader.struct(question)
        const [type, success] = answers[name]!(setting)
        const writer = new BinaryWriter()
        writer.i32(0x80010002 | 0)
        writer.raw(Buffer.from(name))
        writer.i32(sequence)
        writer.struct(struct({ success: [0, type] }), { success } as never)
        socket.write(writer.bytes)
      })
      .on('error', () => undefined),
  )
  return listenOnLoopback(server)
}

test('a log of changes is found where the metastore takes its listeners for not set at first', async () => {
  await using metastore = await forgetfulDouble({
    'hive.metastore.transactional.event.listeners':
      'org.apache.hive.hcatalog.listener.DbNotificationListener',
  })
  const catalog = new HiveCatalog({ metastoreUris: `thrift://127.0.0.1:${metastore.port}` })
  expect(await catalog.feed.position(never)).toBe('7')
  catalog.close()
})

test('a metastore without listeners has no log of changes', async () => {
  await using metastore = await forgetfulDouble({})
  const catalog = new HiveCatalog({ metastoreUris: `thrift://127.0.0.1:${metastore.port}` })
  expect(await catalog.feed.position(never)).toBeUndefined()
  catalog.close()
})
