import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findNatsServer } from '../broker/server/nats-server.ts'
import { freePort, testLog } from '../test/support/platform.ts'

/** Starts a nats-server without accounts or storage; it and this process end with the parent. Resolves with its address. */
export async function startPlainServer(): Promise<string> {
  const { path } = await findNatsServer({ log: testLog })
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'))
  const port = await freePort()
  const server = spawn(path, ['-a', '127.0.0.1', '-p', String(port)], { cwd: folder, stdio: 'ignore' })
  process.once('exit', () => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  process.stdin.once('end', () => process.exit(0)).resume()
  return `127.0.0.1:${port}`
}
