import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contracts } from '../../../subjects/index.ts'
import { gantry, root } from '../support.ts'

/** The words that are offered for the last one. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await gantry(['complete', '--', ...words])
  return out.split('\n').flatMap((line) => line.split('\t')[0] || [])
}

test('commands, resources and verbs', async () => {
  const resources = [...new Set(contracts.map(({ resource }) => resource))]
  expect(await offered('')).toEqual(expect.arrayContaining([...resources, 'up', 'info', 'watch']))
  expect(await offered('mig')).toEqual(['migrations'])
  expect(await offered('')).not.toContain('complete')
  const verbs = contracts.filter(({ resource }) => resource === 'migrations').map(({ verb }) => verb)
  expect(await offered('migrations', '')).toEqual(verbs)
})

test('flags of the command and of all commands', async () => {
  expect(await offered('migrations', 'create', '--')).toEqual(
    expect.arrayContaining(['--migration-id', '--auto-start', '--json', '--help']),
  )
  expect(await offered('migrations', 'create', '--no-')).toContain('--no-auto-start')
  expect(await offered('migrations', 'create', '--path', '/', '--tar')).toEqual([
    '--target',
    '--target-match',
  ])
})

test('values, where they are few', async () => {
  const create = ['filesystems', 'create-local', 'here']
  expect(await offered(...create, '--role', '')).toEqual(['source', 'target'])
  expect(await offered(...create, '--role', 's')).toEqual(['source'])
  expect(await offered(...create, '--role=s')).toEqual(['--role=source'])
  expect(await offered('rbac', 'check', '')).toEqual(['publish', 'subscribe'])
  expect(await offered(...create, '--fs-root', '')).toEqual([])
})

test('as bash divides words', async () => {
  expect(await offered('filesystems', 'create-local', '--role', '=', 's')).toEqual(['source'])
  expect(await offered('filesystems', 'create-local', '--role', '=')).toEqual(['source', 'target'])
})

test('the script for bash asks for candidates, and runs nothing that was typed', async () => {
  const { out: script } = await gantry(['completion', 'bash'])
  const bin = join(root, 'node_modules', '.bin')
  const line = `gantry() { node ${join(root, 'cli', 'gantry.ts')} "$@"; }
${script}
COMP_WORDS=(gantry migrations create '$(exit 9)' ';exit' --tar); COMP_CWORD=5; _gantry; echo "\${COMPREPLY[@]}"`
  const { stdout, status } = spawnSync('bash', ['-c', line], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` },
  })
  expect([status, stdout]).toEqual([0, '--target --target-match\n'])
})

test.for(['bash', 'zsh', 'fish'])('a script for %s', async (shell) => {
  const { code, out } = await gantry(['completion', shell])
  expect(code).toBe(0)
  expect(out).toContain('gantry complete -- ')
})
