/**
 * The peer of the REST bench: Fastify that passes each request to an echo over one NATS connection, on a plain
 * nats-server, and nothing else. Prints its address when it is ready; ends with its parent.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import fastify from 'fastify'
import { findNatsServer } from '../broker/nats-server.ts'
import { freePort, testLog } from '../test/support/platform.ts'

const { path } = await findNatsServer({ log: testLog })
const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'))
const port = await freePort()
const server = spawn(path, ['-a', '127.0.0.1', '-p', String(port)], { cwd: folder, stdio: 'ignore' })
process.once('exit', () => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
process.stdin.once('end', () => process.exit(0)).resume()

const connection = await connect({ servers: `127.0.0.1:${port}`, waitOnFirstConnect: true })
connection.subscribe('echo', { callback: (_, message) => void message.respond(message.data) })
const app = fastify()
app.get('/', async (_, reply) => {
  const { data } = await connection.request('echo', '{"message":"pong"}')
  return reply.type('application/json').send(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
})
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
