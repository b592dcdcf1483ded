/** An echo on a plain nats-server, bare and through `serve()`, in one process. Prints the broker's address. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { findNatsServer } from '../broker/nats-server.ts'
import { createIdentity } from '../broker/identity.ts'
import { serve } from '../broker/serve.ts'
import { MetricRegistry } from '../subjects/metric-registry.ts'
import { freePort, testLog } from '../test/support/platform.ts'
import { echo } from './serve-contract.ts'

const { path } = await findNatsServer({ log: testLog })
const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'))
const port = await freePort()
const server = spawn(path, ['-a', '127.0.0.1', '-p', String(port)], { cwd: folder, stdio: 'ignore' })
process.once('exit', () => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
process.stdin.once('end', () => process.exit(0)).resume()

const servers = `127.0.0.1:${port}`
const connection = await connect({ servers, waitOnFirstConnect: true, noAsyncTraces: true })
connection.subscribe('echo', { callback: (_, message) => void message.respond(message.data) })
const identity = await createIdentity({ maxMemBytes: 1e6, maxFileBytes: 1e6 })
const options = { identity, version: '1.0.0', log: testLog, metrics: new MetricRegistry() }
serve(connection, { echo }, { echo: (input) => input }, options)
await connection.flush()
process.stdout.write(`${servers}\n`)
