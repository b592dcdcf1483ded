import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
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
