/**
 * The peer of the REST bench: Fastify that passes each request to an echo over one NATS connection, on a plain
 * nats-server, and nothing else. Prints its address when it is ready; ends with its parent.
 */
import { connect } from '@nats-io/transport-node'
import fastify from 'fastify'
import { startPlainServer } from './plain-server.ts'

const connection = await connect({ servers: await startPlainServer(), waitOnFirstConnect: true })
connection.subscribe('echo', { callback: (_, message) => void message.respond(message.data) })
const app = fastify()
app.get('/', async (_, reply) => {
  const { data } = await connection.request('echo', '{"message":"pong"}')
  return reply.type('application/json').send(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
})
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
