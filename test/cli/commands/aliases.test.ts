import { expect, test } from 'vitest'
import { gantry } from '../support.ts'

/** The usage of the command that these words lead to. */
async function usageOf(...words: string[]): Promise<string> {
  const { code, out } = await gantry([...words, '-h'])
  expect(code).toBe(0)
  return out.split('\n')[0]!
}

test.for([
  [['migration', 'ls'], 'gantry migrations list'],
  [['migrations', 'rm'], 'gantry migrations delete'],
  [['migrations', 'show'], 'gantry migrations get'],
  [['migrations', 'rescan'], 'gantry migrations add-pending-region'],
  [['fs', 'ls'], 'gantry filesystems list'],
  [['filesystem', 'describe'], 'gantry filesystems get'],
  [['key', 'add'], 'gantry keys create'],
  [['key', 'rm'], 'gantry keys revoke'],
  [['role', 'create'], 'gantry roles put'],
  [['agents', 'rm'], 'gantry agents remove'],
  [['path-mapping', 'ls'], 'gantry path-mappings list'],
  [['hive', 'rule', 'ls'], 'gantry hive rule list'],
] as const)('gantry %s is %s', async ([words, command]) => {
  expect(await usageOf(...words)).toMatch(new RegExp(`^Usage: ${command}(?:\\|| )`))
})

test.for([
  ['ls', /one of gantry migrations list, gantry filesystems list\?/],
  ['list', /one of gantry migrations list, gantry filesystems list\?/],
  ['get', /one of gantry migrations get, gantry filesystems get\?/],
  ['rm', /one of gantry migrations delete, gantry filesystems delete\?/],
  ['start', /\(Did you mean gantry migrations start\?/],
  ['stop', /\(Did you mean gantry migrations stop\?/],
  ['cp', /\(Did you mean gantry copy\?/],
  ['status', /one of gantry info, gantry migrations list\?/],
  ['logs', /one of gantry audit list, gantry migrations failures, gantry doctor\?/],
] as const)('gantry %s is no command, and says what may be meant, which is one', async ([word, said]) => {
  for (const args of [
    [word, 'x'],
    ['help', word],
  ]) {
    const { code, err } = await gantry(args)
    expect(code).toBe(2)
    expect(err).toMatch(said)
    for (const [, words] of err.matchAll(/gantry ([a-z ]+)[,?]/g)) await usageOf(...words!.split(' '))
  }
})

test('help takes all words of a command', async () => {
  for (const words of [['migrations', 'create'], ['fs', 'ls'], ['copy'], ['hive', 'rule', 'ls'], []]) {
    const { code, out } = await gantry(['help', ...words])
    expect(code).toBe(0)
    expect(out).toBe((await gantry([...words, '--help'])).out)
  }
  const { code, err } = await gantry(['help', 'migrations', 'creat'])
  expect(code).toBe(2)
  expect(err).toMatch(/unknown command 'creat' \(Did you mean .*create.*\); see gantry migrations --help/)
})

test('a word that is a command is that command', async () => {
  // Both are commands of their own.
  expect(await usageOf('agent')).toMatch(/^Usage: gantry agent /)
  expect(await usageOf('extensions', 'show')).toMatch(/^Usage: gantry extensions show/)
  expect(await usageOf('roles', 'put')).toMatch(/^Usage: gantry roles put/)
})

test('completion goes on after another word for a command', async () => {
  const { out } = await gantry(['complete', '--', 'fs', 'create-local', 'here', '--role', ''])
  expect(out).toBe('source\ntarget\n')
})
