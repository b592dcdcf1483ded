import { spawnSync } from 'node:child_process'
import { mkdtempDisposableSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { formatToken } from '../../broker/identity/token.ts'
import { root } from './support.ts'

/** Files that a command loads, as URLs. */
function loadedBy(args: readonly string[], env: NodeJS.ProcessEnv = {}): string[] {
  const hooks = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context) } })`
  const { stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(hooks)}`,
      join(root, 'cli', 'gantry.ts'),
      ...args,
    ],
    { encoding: 'utf8', env: { ...process.env, ...env } },
  )
  return stderr.split('\n').filter((url) => url.startsWith('file:'))
}

test('help loads neither the broker client nor the servers, the log or the validator', () => {
  const loaded = loadedBy(['--help'])
  expect(loaded.join()).toContain('commander')
  expect(loaded.filter((url) => /@nats-io|fastify|pino|compile|cli\/platform\.ts/.test(url))).toEqual([])
})

test('completion loads neither commands nor contracts once it has kept what can be typed', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  const line = ['complete', '--', 'migrations', 'start', '']
  // Nobody is there who could say a name; the client that would ask is loaded.
  const location = { instance: 'I', nats: 'nats://127.0.0.1:1', http: 'http://127.0.0.1:1' }
  const env = { NODE_COMPILE_CACHE: folder.path, GANTRY_TOKEN: formatToken(location, 'knobody', 'secret') }
  const isAvoided = (url: string) => /commander|typebox|subjects\/index\.ts/.test(url)
  expect(loadedBy(line, env).filter(isAvoided)).not.toEqual([])
  const loaded = loadedBy(line, env)
  expect(loaded.join()).toContain('@nats-io')
  expect(loaded.filter(isAvoided)).toEqual([])
})

test('what can be typed is found anew where what was kept of it is damaged', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  const offered = () =>
    spawnSync(process.execPath, [join(root, 'cli', 'gantry.ts'), 'complete', '--', 'migrations', 'st'], {
      encoding: 'utf8',
      env: { ...process.env, NODE_COMPILE_CACHE: folder.path },
    }).stdout.match(/^\S+/gm)
  const verbs = ['start', 'stop', 'stop-all', 'states', 'stats']
  expect(offered()).toEqual(verbs)
  const kept = readdirSync(folder.path, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  )
  expect(kept).toHaveLength(1)
  const path = join(folder.path, kept[0]!)
  writeFileSync(path, readFileSync(path).subarray(0, 100))
  expect(offered()).toEqual(verbs)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ name: 'gantry' })
})
