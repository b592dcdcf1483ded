/** An echo on a plain nats-server, bare and through `serve()`, in one process. Prints the broker's address. */
import { connect } from '@nats-io/transport-node'
import { createIdentity } from '../broker/identity/create-identity.ts'
import { serve } from '../broker/rpc/serve.ts'
import { MetricRegistry } from '../subjects/observability/metric-registry.ts'
import { serviceQueue } from '../subjects/kit/names.ts'
import { testLog } from '../test/support/platform.ts'
import { startPlainServer } from './plain-server.ts'
import { bareSubject, echo } from './serve-contract.ts'

const servers = await startPlainServer()
const connection = await connect({ servers, waitOnFirstConnect: true, noAsyncTraces: true })
connection.subscribe(bareSubject, {
  queue: serviceQueue,
  callback: (_, message) => void message.respond(message.data),
})
const identity = await createIdentity({ maxMemBytes: 1e6, maxFileBytes: 1e6 })
const options = { identity, version: '1.0.0', log: testLog, metrics: new MetricRegistry() }
serve(connection, { echo }, { echo: (input) => input }, options)
await connection.flush()
process.stdout.write(`${servers}\n`)
