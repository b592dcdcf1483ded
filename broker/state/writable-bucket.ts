import { jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm, type KvOptions } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { removing, tellLosses } from './books/stream-book.ts'
import { eraseStream, isTransient, lastOfEach } from './jetstream.ts'

/** Key of what is written as a trial. Values have keys of one token, entries of indexes three. */
const trialKey = 'trial.write'

/** A broker that has just started may be slow. */
const maxAttempts = 2

/** Values that are written at once to a bucket that is made anew. */
const writtenAtOnce = 256

/**
 * Uses a bucket; undefined when that fails though the broker answers: nats-server does not reply where it meets a damaged
 * message.
 */
export async function unlessDamaged<T>(
  connection: NatsConnection,
  bucket: string,
  use: () => Promise<T>,
): Promise<T | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await use()
    } catch (error) {
      if (!isTransient(error)) throw error
      const manager = await jetstreamManager(connection, { checkAPI: false })
      await manager.streams.info(`KV_${bucket}`)
      if (attempt === maxAttempts) return undefined
    }
  }
}

/**
 * Whether a bucket takes values. Where nats-server finds a damaged message in the block that it writes to, it answers no
 * writer, at no later start either, though all values can be read. In one that never had any nothing can be damaged.
 */
export async function isWritable(connection: NatsConnection, bucket: string, kv: KV): Promise<boolean> {
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const stream = `KV_${bucket}`
  const isTried = await unlessDamaged(connection, bucket, async () => {
    if ((await manager.streams.info(stream)).state.last_seq === 0) return true
    await kv.put(trialKey, '')
    await removing(connection, { stream, messages: 1 }, () =>
      manager.streams.purge(stream, { filter: `$KV.${bucket}.${trialKey}` }),
    )
    return true
  })
  return isTried === true
}

/** Removes a bucket with all that is in it, and makes it again. */
export async function makeAnew(
  connection: NatsConnection,
  bucket: string,
  options: Partial<KvOptions>,
): Promise<void> {
  await removing(connection, { stream: `KV_${bucket}`, messages: undefined }, async () => {
    await eraseStream(await jetstreamManager(connection, { checkAPI: false }), `KV_${bucket}`)
    await new Kvm(connection).create(bucket, options)
  })
}

/** Opens a bucket, which is made if need be. One that takes no values is made anew with those that it has. */
export async function openWritable(
  connection: NatsConnection,
  bucket: string,
  options: Partial<KvOptions>,
): Promise<KV> {
  const kv = await new Kvm(connection).create(bucket, options)
  if (!(await isWritable(connection, bucket, kv))) await salvage(connection, bucket, kv, options)
  return kv
}

/** Makes a bucket anew with its values, and tells so. Throws, and changes nothing, when they cannot be read. */
export async function salvage(
  connection: NatsConnection,
  bucket: string,
  kv: KV,
  options: Partial<KvOptions>,
): Promise<void> {
  const prefix = `$KV.${bucket}.`
  const values = new Map<string, string>()
  await lastOfEach(connection, `KV_${bucket}`, `${prefix}*`, (message) => {
    if (!message.headers?.get('KV-Operation'))
      values.set(message.subject.slice(prefix.length), message.string())
  })
  tellLosses(connection, [{ store: bucket, kind: 'UNUSABLE' }])
  await makeAnew(connection, bucket, options)
  const all = [...values]
  while (all.length > 0)
    await Promise.all(all.splice(0, writtenAtOnce).map(([key, value]) => kv.put(key, value)))
}
