// Run while an image is built: starts the platform once and asks it by command, so that the code of both is kept compiled, and
// an image that does not start is not built.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { flagOf, portKeyOf, portNames } from '../../config/port-settings.ts'

const gantry = fileURLToPath(new URL('../../cli/gantry.mjs', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'gantry-'))
const env = { ...process.env, GANTRY_HOME: home }

/** The build may share its network with a host where the usual ones are taken. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
const ports: string[] = []
for (const name of portNames) ports.push(flagOf(portKeyOf(name)), String(await freePort()))

const platform = spawn(process.execPath, [gantry, 'up', '--log-level', 'warn', ...ports], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = once(platform, 'exit')
let said = ''
const ready = new Promise<void>((resolve) => {
  // To the end: it would fail on what nobody reads any more.
  platform.stdout.on('data', (part) => {
    said += String(part)
    if (said.includes(' is ready')) resolve()
  })
})
await Promise.race([ready, ended])
const asked = spawnSync(process.execPath, [gantry, 'info'], { env, stdio: 'inherit' })
platform.kill('SIGTERM')
const [code] = (await ended) as [number | null]
rmSync(home, { recursive: true })
if (code !== 0 || asked.status !== 0) {
  process.stderr.write(
    `It does not start here: it ended with ${code}, and the command with ${asked.status}.\n${said}`,
  )
  process.exitCode = 1
}
