import { streams, Type } from 'avsc'
import type { AppendBlobClient, BlobServiceClient, ContainerClient } from '@azure/storage-blob'
import { randomBytes, randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'

/** Fields as Azure documents them for version 5, with all that Avro has to say them with. */
export const eventSchema = {
  type: 'record',
  name: 'BlobChangeEvent',
  namespace: 'com.microsoft.azure.storage.blobs',
  fields: [
    { name: 'schemaVersion', type: 'int' },
    { name: 'topic', type: 'string' },
    { name: 'subject', type: 'string' },
    {
      name: 'eventType',
      type: {
        type: 'enum',
        name: 'BlobChangeEventType',
        symbols: [
          'UnspecifiedEventType',
          'BlobCreated',
          'BlobDeleted',
          'BlobPropertiesUpdated',
          'Control',
          'RestorePointMarkerCreated',
        ],
      },
    },
    { name: 'eventTime', type: 'string' },
    { name: 'id', type: 'string' },
    {
      name: 'data',
      type: {
        type: 'record',
        name: 'BlobChangeEventData',
        fields: [
          { name: 'api', type: 'string' },
          { name: 'requestId', type: 'string' },
          { name: 'etag', type: ['null', 'string'] },
          { name: 'contentType', type: ['null', 'string'] },
          { name: 'contentLength', type: ['null', 'long'] },
          { name: 'contentCrc', type: ['null', { type: 'fixed', name: 'Crc', size: 8 }] },
          {
            name: 'blobType',
            type: { type: 'enum', name: 'BlobType', symbols: ['BlockBlob', 'AppendBlob', 'PageBlob'] },
          },
          { name: 'url', type: ['null', 'string'] },
          { name: 'recursive', type: ['null', 'boolean'] },
          { name: 'share', type: ['null', 'double'] },
          { name: 'sequencer', type: 'bytes' },
          {
            name: 'blobPropertiesUpdated',
            type: [
              'null',
              {
                type: 'map',
                values: {
                  type: 'record',
                  name: 'PropertyChange',
                  fields: [
                    { name: 'current', type: ['null', 'string'] },
                    { name: 'previous', type: ['null', 'string'] },
                    { name: 'earlier', type: ['null', { type: 'array', items: 'PropertyChange' }] },
                  ],
                },
              },
            ],
          },
          { name: 'storageDiagnostics', type: ['null', { type: 'map', values: 'string' }] },
        ],
      },
    },
    { name: 'dataVersion', type: ['null', 'string'] },
    { name: 'metadataVersion', type: 'string' },
  ],
} as const

/** What happened to which blob. */
interface EventOf {
  readonly type: string
  readonly name: string
}

/** An event as Azure writes it. */
export function eventOf(
  subject: string,
  { eventType = 'BlobCreated', eventTime = new Date().toISOString() } = {},
) {
  return {
    schemaVersion: 5,
    topic: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/gantrytest',
    subject,
    eventType,
    eventTime,
    id: randomUUID(),
    data: {
      api: 'PutBlob',
      requestId: randomUUID(),
      etag: '0x8D9F2155CBF7928',
      contentType: null,
      contentLength: 2 ** 40 + 1,
      contentCrc: Buffer.alloc(8, 7),
      blobType: 'AppendBlob',
      url: '',
      recursive: false,
      share: 0.5,
      sequencer: Buffer.from('0001'),
      blobPropertiesUpdated: {
        ContentType: {
          current: 'a',
          previous: null,
          earlier: [{ current: null, previous: null, earlier: null }],
        },
      },
      storageDiagnostics: { bid: randomUUID(), seq: '(2,18446744073709551615,29,29)' },
    },
    dataVersion: null,
    metadataVersion: '1',
  }
}

const eventType = Type.forSchema(eventSchema as never)

export type Codec = 'null' | 'deflate'

/** What Apache's format has for values: a file with its header, or blocks that go on with one of the same `sync`. */
export async function avroFile(
  values: readonly unknown[],
  {
    codec = 'null',
    type = eventType,
    blockSize = 4_096,
    sync = randomBytes(16),
    goesOn = false,
  }: {
    readonly codec?: Codec
    readonly type?: Type
    readonly blockSize?: number
    readonly sync?: Buffer
    readonly goesOn?: boolean
  } = {},
): Promise<Buffer> {
  const encoder = new streams.BlockEncoder(type, {
    codec,
    codecs: streams.BlockEncoder.defaultCodecs(),
    blockSize,
    syncMarker: sync,
    writeHeader: goesOn ? 'never' : 'always',
  } as never)
  for (const value of values) encoder.write(value)
  encoder.end()
  return buffer(encoder)
}

/** A segment of now. */
export const segmentNow = (hoursLater = 0): string => {
  const time = new Date(Date.now() + hoursLater * 3_600_000).toISOString()
  return `${time.slice(0, 4)}/${time.slice(5, 7)}/${time.slice(8, 10)}/${time.slice(11, 13)}00`
}

/** In the place of Azure, which writes the files of a change feed: into a container of Azurite. */
export class ChangeFeedDouble {
  readonly container: ContainerClient
  readonly #data: string
  readonly #codec: Codec
  readonly #syncs = new Map<string, Buffer>()

  constructor(service: BlobServiceClient, data: string, codec: Codec = 'null') {
    this.container = service.getContainerClient('$blobchangefeed')
    this.#data = data
    this.#codec = codec
  }

  /** What there is once it is enabled. */
  async enable(): Promise<void> {
    await this.container.createIfNotExists()
    await this.put('idx/segments/1601/01/01/0000/meta.json', {
      version: 0,
      status: 'Finalized',
      chunkFilePaths: [],
    })
  }

  async put(name: string, content: object | string): Promise<void> {
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    await this.container.getBlockBlobClient(name).upload(text, Buffer.byteLength(text))
  }

  segment(name: string, status: string, shards: readonly string[], more: object = {}): Promise<void> {
    return this.put(`idx/segments/${name}/meta.json`, {
      version: 0,
      intervalSecs: 3600,
      status,
      chunkFilePaths: shards.map((shard) => `$blobchangefeed/log/${shard}/${name}/`),
      ...more,
    })
  }

  consumable(name: string): Promise<void> {
    const [year, month, day, time = ''] = name.split('/')
    const lastConsumable = `${year}-${month}-${day}T${time.slice(0, 2)}:${time.slice(2)}:00.000Z`
    return this.put('meta/segments.json', { version: 0, lastConsumable })
  }

  event({ type, name }: EventOf, eventTime?: string) {
    const subject = `/blobServices/default/containers/${this.#data}/blobs/${name}`
    return eventOf(subject, { eventType: type, ...(eventTime !== undefined && { eventTime }) })
  }

  file(shard: string, segment: string, chunk = 0): AppendBlobClient {
    const name = `log/${shard}/${segment}/${String(chunk).padStart(5, '0')}.avro`
    return this.container.getAppendBlobClient(name)
  }

  /** The bytes that events come to at the end of a file, which is begun where it is not there. */
  async bytes(file: AppendBlobClient, events: readonly unknown[], blockSize?: number): Promise<Buffer> {
    const known = this.#syncs.get(file.name)
    const sync = known ?? randomBytes(16)
    this.#syncs.set(file.name, sync)
    const how = { codec: this.#codec, sync, goesOn: known !== undefined }
    return avroFile(events, blockSize === undefined ? how : { ...how, blockSize })
  }

  async append(file: AppendBlobClient, bytes: Buffer): Promise<void> {
    await file.createIfNotExists()
    if (bytes.length > 0) await file.appendBlock(bytes, bytes.length)
  }

  async tell(file: AppendBlobClient, changes: readonly EventOf[]) {
    await this.append(
      file,
      await this.bytes(
        file,
        changes.map((change) => this.event(change)),
      ),
    )
  }
}
