import { Kvm } from '@nats-io/kv'
import { workerData } from 'node:worker_threads'
import { connectAs } from '../../broker/rpc/platform-connection.ts'
import { type IdentityFields, keysOf } from '../../broker/identity/identity.ts'

// Another process on the same bucket, as a thread: whenever it is told to, it stores every value once more.
const { url, fields, bucket, turn } = workerData as {
  url: string
  fields: IdentityFields
  bucket: string
  turn: Int32Array
}
const connection = await connectAs('PLATFORM', { url, identity: keysOf(fields), name: 'another' })
const values = await new Kvm(connection).open(bucket)
for (;;) {
  Atomics.store(turn, 0, 0)
  Atomics.notify(turn, 0)
  Atomics.wait(turn, 0, 0)
  for await (const key of await values.keys()) {
    const entry = await values.get(key)
    if (entry !== null) await values.put(key, entry.value)
  }
}
