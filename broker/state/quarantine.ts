import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { isApiError, jetStreamCodes, lastOfEach } from './jetstream.ts'

/** Bucket of records that nobody can read, each under the name of its own bucket and its key there. */
export const setAsideBucket = 'set-aside'

/** A record whose bytes no release writes. */
export interface Unreadable {
  /** Key in its bucket. */
  readonly key: string
  readonly revision: number
  readonly data: Uint8Array
}

/** Moves a record away, as it is, so that the others can be used and it can be looked at. Idempotent. */
export async function quarantine(
  connection: NatsConnection,
  from: KV,
  name: string,
  { key, revision, data }: Unreadable,
): Promise<void> {
  const aside = await new Kvm(connection).create(setAsideBucket, { history: 1 })
  await aside.put(`${name}.${key}`, data)
  await from.delete(key, { previousSeq: revision })
}

/** Names of the quarantined records: bucket, dot, key. */
export async function namesSetAside(connection: NatsConnection): Promise<string[]> {
  const prefix = `$KV.${setAsideBucket}.`
  const names: string[] = []
  try {
    await lastOfEach(connection, `KV_${setAsideBucket}`, `${prefix}>`, ({ headers, subject }) => {
      if (!headers?.get('KV-Operation')) names.push(subject.slice(prefix.length))
    })
  } catch (error) {
    if (!isApiError(error, jetStreamCodes.streamNotFound)) throw error
  }
  return names.toSorted()
}
