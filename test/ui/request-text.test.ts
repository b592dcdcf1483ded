import { Command } from 'commander'
import { expect, test } from 'vitest'
import { inputOf } from '../../cli/output/values.ts'
import { addContracts } from '../../cli/program.ts'
import { assignments } from '../../subjects/access/assignments.ts'
import { settings } from '../../subjects/access/settings.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { observability } from '../../subjects/observability/observability.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { commandText } from '../../ui/kit/request-text.ts'
import { shellWords } from '../../subjects/kit/shell-word.ts'

/** What the command line makes of a text: its input, and the options of every command. */
async function read(contract: Contract, text: string) {
  let input: object | undefined
  const program = new Command().exitOverride().option('--server <url>')
  const sources = {
    cwd: '/',
    terminal: { err: () => undefined },
    readStdin: () => Promise.reject(new Error('nobody asked for stdin')),
  }
  addContracts(program, [contract], async (of, shape, given) => {
    input = await inputOf(of, shape, given, sources)
  })
  const [, ...words] = shellWords(text)
  await program.parseAsync(words, { from: 'user' })
  return { input, server: program.opts()['server'] as unknown }
}

const evil = '--server=evil.example:4222'

test.for<[string, Contract, object]>([
  ['a plain name', migrations.get, { migrationId: 'first' }],
  ['a name that looks like an option', migrations.get, { migrationId: evil }],
  ['one beside flags', bandwidth.set, { scope: 'migration', name: evil, limit: 5, unit: 'MiB' }],
  [
    'a flag of that value before a switch',
    migrations.create,
    { path: '/', source: evil, target: 'b', autoStart: true },
  ],
  ['items with commas', assignments.put, { group: 'g', roles: ['x,admin'] }],
  ['several items', assignments.put, { group: "it's", roles: ['viewer', 'other'] }],
  ['a verb of its own', observability.query_scalar_metrics, { name: 'storage.bytes' }],
  ['an empty list', settings.put, { filesystemRoots: [] }],
])('%s: the command says the same', async ([, contract, input]) => {
  expect(await read(contract, commandText(contract, input as Record<string, unknown>))).toEqual({
    input,
    server: undefined,
  })
})

test('a command is called as it is where the platform runs', () => {
  expect(commandText(migrations.get, { migrationId: 'first' }, './gantry')).toBe(
    './gantry migrations get first',
  )
  expect(commandText(migrations.get, { migrationId: 'first' })).toBe('gantry migrations get first')
})
