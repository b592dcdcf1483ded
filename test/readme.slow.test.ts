import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { loadMessagingConfig } from '../config/messaging.ts'
import { loadListenOptions } from '../http-edge/properties.ts'
import { brokerPort, httpServers, websocketPort } from '../subjects/kit/names.ts'
import { compareTrees } from './support/compare-trees.ts'
import { createHome, natsServerPath } from './support/platform.ts'
import { lastLine } from '../cli/up/text.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = ['README.md', 'docs/PROGRAMS.md'].map((file) => readFileSync(join(root, file), 'utf8'))

/** Their code blocks in a language, in order. */
const blocks = (language: string): string[] =>
  [...pages.join('\n').matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .filter(([, its]) => its === language)
    .map(([, , text]) => text!.trimEnd())

test('the README, and the page for programs, say what really happens', { timeout: 120_000 }, async () => {
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
  // As npm runs it, so that it speaks of the command in a clone.
  const env = {
    ...process.env,
    npm_command: 'start',
    GANTRY_HOME: home,
    XDG_CONFIG_HOME: home,
    NATS_SERVER: await natsServerPath(),
  }

  const platform = spawn(process.execPath, [join(root, 'cli/gantry.ts'), 'up'], { env, cwd: root })
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'gantry-example-'))
  const scripts = mkdtempSync(join(root, 'node_modules/.cache/readme-'))
  try {
    const lines: string[] = []
    for await (const line of createInterface(platform.stdout)) {
      lines.push(line)
      if (line === lastLine) break
    }
    const said = translate(lines.filter((line) => !line.startsWith('{')).join('\n'), 1)
      .replaceAll(`GANTRY_HOME=${home} `, '')
      .replaceAll(home, '/home/me/gantry/.gantry')
      .replace(/ready \([\d.]+ s\)/, 'ready (2.2 s)')
      // The passwords are others each time.
      .replace(/(\n {2}administrator {2})\S{16}\n/, '$13kXv0u9yQ2mTz1aB\n')
      .replace(/(\n {2}viewer {9})\S{16}\n/, '$1s7WcJ4nRf8hLp6Ye\n')
    // The README leaves out what is not needed for a start.
    const parts = blocks('text')[0]!.split('\n  …')
    expect(parts.length).toBeGreaterThan(1)
    let at = 0
    for (const part of parts) {
      const found = said.indexOf(part, at)
      expect(found, part).toBeGreaterThanOrEqual(at)
      at = found + part.length
    }
    expect(said.startsWith(parts[0]!)).toBe(true)

    // The example migrates a copy of our own documentation.
    const run = (typed: string) => promisify(execFile)('sh', ['-ec', typed], { env, cwd: root })
    const [example] = blocks('sh')
    expect(example).toContain('/tmp/gantry-example')
    const { stdout: migrated } = await run(example!.replaceAll('/tmp/gantry-example', folder))
    expect(compareTrees(join(folder, 'from'), join(folder, 'to'))).toEqual([])
    expect(migrated).toContain('COMPLETED')

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
      const { stdout } = await run(typed)
      expect(translate(stdout.trimEnd(), 1), typed).toBe(output.join('\n'))
    }
    expect(commands.length).toBeGreaterThanOrEqual(3)
  } finally {
    const ended = once(platform, 'exit')
    platform.kill('SIGINT')
    await ended
    rmSync(home, { recursive: true, force: true })
    rmSync(scripts, { recursive: true, force: true })
    rmSync(folder, { recursive: true, force: true })
  }
})
