import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { formatToken } from '../../broker/identity/token.ts'
import { findToken, homeFolder } from '../../cli/sign-in/token.ts'
import { testUnless } from '../support/unless.ts'
import { root } from './support.ts'

/** The Node of the machine, when it is another than Gantry's own. */
const otherNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => folder !== '' && !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find(
    (path) =>
      existsSync(path) &&
      spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout !== `${process.version}\n`,
  )

test('without packages it says what to do, in one line', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  mkdirSync(join(folder.path, 'cli'))
  const launcher = join(folder.path, 'cli', 'gantry.mjs')
  for (const name of ['gantry.mjs', 'bundled-schemas.mjs', 'node-settings.mjs'])
    copyFileSync(join(root, 'cli', name), join(folder.path, 'cli', name))
  writeFileSync(join(folder.path, 'package-lock.json'), '{}')
  const { status, stderr } = spawnSync(process.execPath, [launcher, 'info'], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toBe(`error: ${folder.path} has no packages yet: run "npm start" there once\n`)
})

testUnless(
  otherNode === undefined ? 'there is no other Node' : undefined,
  'with another Node it goes on in the one of node_modules',
  () => {
    const launcher = join(root, 'cli', 'gantry.mjs')
    const run = (...args: string[]) => spawnSync(otherNode!, [launcher, ...args], { encoding: 'utf8' })
    expect(run('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\./) as string })
    expect(run('nonsense')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('nonsense') as string,
    })
  },
)

test('hints, help and completion name the command as it can be typed there', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  const launcher = join(root, 'gantry')
  const run = (cwd: string, path: string, ...args: string[]) =>
    spawnSync(launcher, args, { cwd, encoding: 'utf8', env: { PATH: path, HOME: folder.path } })
  const usual = process.env['PATH'] ?? ''
  const inClone = run(root, usual, 'watch', '--help').stdout
  expect(inClone).toContain('Usage: ./gantry watch')
  expect(inClone).toContain('$ ./gantry watch nightly')
  expect(inClone).not.toMatch(/(?<!\/)gantry /)
  expect(run(root, usual, 'wach').stderr).toContain('see ./gantry --help')
  expect(run(folder.path, usual, 'watch', '--help').stdout).toContain(`$ ${launcher} watch nightly`)
  // A shell may be in any folder when it completes.
  expect(run(root, usual, 'completion', 'bash').stdout).toContain(`(${launcher} complete --`)
  symlinkSync(launcher, join(folder.path, 'gantry'))
  const installed = run(root, `${folder.path}${delimiter}${usual}`, 'watch', '--help').stdout
  expect(installed).toContain('$ gantry watch nightly')
})

test('the configuration folder is that of the environment, of the working folder, or beside the program', () => {
  using program = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  using cwd = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  const folder = program.path
  const found = (env: NodeJS.ProcessEnv = {}) => homeFolder({ env, cwd: cwd.path, folder })
  expect(found()).toBe(join(cwd.path, '.gantry'))
  mkdirSync(join(folder, '.gantry'))
  expect(found()).toBe(join(folder, '.gantry'))
  expect(() => findToken({ env: {}, cwd: cwd.path, folder })).toThrow(join(folder, '.gantry', 'credentials'))
  mkdirSync(join(cwd.path, '.gantry'))
  expect(found()).toBe(join(cwd.path, '.gantry'))
  expect(found({ GANTRY_HOME: 'other' })).toBe(join(cwd.path, 'other'))
})

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
