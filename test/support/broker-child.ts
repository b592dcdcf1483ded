import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestBroker } from './broker.ts'

// A process with a broker, to be killed: tells where it is, then stays until its parent is gone too.
const home = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'gantry-child-'))
const broker = await startTestBroker({ home })
process.stdout.write(`${JSON.stringify({ home, pid: broker.server.pid(), url: broker.server.tcpUrl })}\n`)
process.stdin.resume().once('end', () => process.exit())
