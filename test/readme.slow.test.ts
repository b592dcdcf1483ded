import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { loadMessagingConfig } from '../config/messaging.ts'
import { loadListenOptions } from '../http-edge/properties.ts'
import { brokerPort, httpServers, websocketPort } from '../subjects/kit/names.ts'
import { createHome, natsServerPath } from './support/platform.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const firstScreen = readme.slice(0, readme.indexOf('\n## '))

/** The code blocks of the first screen, by language. */
const blocks = (language: string): string[] =>
  [...firstScreen.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .filter(([, its]) => its === language)
    .map(([, , text]) => text!.trimEnd())

test('the first screen says what really happens', { timeout: 60_000 }, async () => {
  const home = await createHome()
  const messaging = loadMessagingConfig(home)
  // The documented ports may be taken on this machine, so the platform runs on others, and texts are translated.
  const ports: [documented: number, actual: number][] = [
    [brokerPort, messaging.port],
    [websocketPort, messaging.websocketPort],
    [httpServers.platform.port, loadListenOptions(home, 'platform').port],
    [httpServers.migrator.port, loadListenOptions(home, 'migrator').port],
    [httpServers.metadata.port, loadListenOptions(home, 'metadata').port],
  ]
  const translate = (text: string, from: 0 | 1) =>
    ports.reduce(
      (all, pair) => all.replaceAll(`127.0.0.1:${pair[from]}`, `127.0.0.1:${pair[1 - from]}`),
      text,
    )
  // As npm runs it, so that it speaks of npx.
  const env = {
    ...process.env,
    npm_command: 'start',
    GANTRY_HOME: home,
    XDG_CONFIG_HOME: home,
    NATS_SERVER: await natsServerPath(),
  }

  const platform = spawn(process.execPath, [join(root, 'cli/gantry.ts'), 'up'], { env, cwd: root })
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  const scripts = mkdtempSync(join(root, 'node_modules/.cache/readme-'))
  try {
    const lines: string[] = []
    for await (const line of createInterface(platform.stdout)) {
      lines.push(line)
      if (line.startsWith('Ctrl-C')) break
    }
    const said = translate(lines.filter((line) => !line.startsWith('{')).join('\n'), 1)
      .replaceAll(`GANTRY_HOME=${home} `, '')
      .replaceAll(home, '/home/me/gantry/.gantry')
      .replace(/ready \([\d.]+ s\)/, 'ready (2.2 s)')
      // The passwords are others each time.
      .replace(/(\n {2}administrator {2})\S{16}\n/, '$13kXv0u9yQ2mTz1aB\n')
      .replace(/(\n {2}viewer {9})\S{16}\n/, '$1s7WcJ4nRf8hLp6Ye\n')
    expect(said).toBe(blocks('text')[0])

    const [script] = blocks('js')
    writeFileSync(join(scripts, 'ask.mjs'), translate(script!, 0))
    const [start, ...commands] = blocks('console')
    expect(start).toBe('$ npm start')
    for (const block of commands) {
      const [command, ...output] = block.split('\n')
      const typed = translate(command!.replace(/^\$ /, ''), 0).replace(
        'node ask.mjs',
        `node ${join(scripts, 'ask.mjs')}`,
      )
      const { stdout } = await promisify(execFile)('sh', ['-c', typed], { env, cwd: root })
      expect(translate(stdout.trimEnd(), 1), typed).toBe(output.join('\n'))
    }
    expect(commands.length).toBeGreaterThanOrEqual(3)
  } finally {
    const ended = once(platform, 'exit')
    platform.kill('SIGINT')
    await ended
    rmSync(home, { recursive: true, force: true })
    rmSync(scripts, { recursive: true, force: true })
  }
})
