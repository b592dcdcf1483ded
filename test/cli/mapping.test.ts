import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, expect, test } from 'vitest'
import { addContracts, createProgram } from '../../cli/program.ts'
import { createContext } from '../../cli/context.ts'
import { type Field, shapeOf } from '../../cli/output/shape.ts'
import { inputOf } from '../../cli/output/values.ts'
import { type Contract, verbOf } from '../../subjects/kit/contract.ts'
import { partField } from '../../subjects/kit/download.ts'
import { contracts } from '../../subjects/index.ts'
import { fieldsOf, type JsonSchema } from '../../subjects/kit/json-schema.ts'
import { problemsOf } from '../../subjects/kit/validate.ts'
import { shellWords } from '../../subjects/kit/shell-word.ts'
import { testTerminal } from './support.ts'

/** Has the file that examples name. */
const cwd = mkdtempSync(join(tmpdir(), 'gantry-mapping-'))
writeFileSync(join(cwd, 'key.json'), '{}')
afterAll(() => rmSync(cwd, { recursive: true }))
const sources = {
  cwd,
  terminal: { err: () => undefined },
  readStdin: () => Promise.reject(new Error('nobody asked for stdin')),
}

/** The input that the command line of a contract stands for. */
async function inputOfLine(
  of: Contract,
  args: readonly string[],
): Promise<{ contract: Contract; input: object }> {
  let read: { contract: Contract; input: object } | undefined
  const program = new Command().exitOverride()
  addContracts(program, [of], async (contract, shape, given) => {
    read = { contract, input: await inputOf(contract, shape, given, sources) }
  })
  await program.parseAsync(args, { from: 'user' })
  if (read === undefined) throw new Error('no command ran')
  return read
}

const cases = contracts
  .filter(({ brokerOnly }) => brokerOnly !== true)
  .map((contract): [string, Contract] => [`${contract.resource} ${contract.verb}`, contract])

test.for(cases)('%s: every field can be given, and arrives as it is', async ([, contract]) => {
  const fields = Object.entries(fieldsOf(contract.input))
  // The command itself asks for one part of a long text after the other.
  const given = fields.filter(([name]) => contract.download === undefined || name !== partField)
  const properties = Object.fromEntries(given)
  const input = sample({ type: 'object', properties })
  const read = await inputOfLine(contract, lineOf(contract, input as Record<string, unknown>))
  expect(read.contract).toBe(contract)
  expect(read.input).toEqual(input)
})

test.for(cases)('%s: what is switched off arrives as false', async ([, contract]) => {
  const { args, flags } = shapeOf(contract)
  const switches = flags.filter(({ kind }) => kind === 'boolean')
  const line = [...args.map(textOf), ...switches.map(({ flag }) => `--no-${flag}`)]
  const { input } = await inputOfLine(contract, [contract.resource, verbOf(contract), ...line])
  expect(input).toMatchObject(Object.fromEntries(switches.map(({ name }) => [name, false])))
})

test.for(cases)('%s: its example is right', async ([, contract]) => {
  const { example } = contract.cli ?? {}
  if (example === undefined) return
  const [, ...words] = shellWords(example)
  const read = await inputOfLine(contract, words)
  expect(read.contract).toBe(contract)
  expect(problemsOf(contract.input, read.input)).toEqual([])
})

const taken = createProgram(createContext({ ...sources, env: {}, terminal: testTerminal() })).options

test.for(cases)('%s: its flags are its own', ([, contract]) => {
  const { flags } = shapeOf(contract)
  const names = [...flags.map(({ flag }) => `--${flag}`), ...taken.map(({ long }) => long), '--help']
  expect(names).toEqual([...new Set(names)])
})

function lineOf(contract: Contract, input: Record<string, unknown>): string[] {
  const { args, flags } = shapeOf(contract)
  return [
    contract.resource,
    verbOf(contract),
    ...args.map(({ name }) => String(input[name])),
    ...flags.flatMap((field) => flagText(field, input[field.name])),
  ]
}

function flagText({ flag, kind }: Field, value: unknown): string[] {
  const name = `--${flag}`
  switch (kind) {
    case 'boolean':
      return [name]
    case 'list':
      return (value as unknown[]).flatMap((item) => [name, String(item)])
    case 'record':
      return Object.entries(value as object).flatMap(([key, one]) => [name, `${key}=${String(one)}`])
    case 'object':
      return [name, JSON.stringify(value)]
    case 'number':
    case 'text':
      return [name, String(value)]
  }
}

const textOf = ({ schema }: Field): string => String(sample(schema))

/** A value of the schema's type, though not always within its bounds; texts have what shells and parsers trip over. */
function sample({ type, properties, items, enum: members }: JsonSchema): unknown {
  if (members !== undefined) return members.at(-1)
  if (properties !== undefined) {
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, sample(field)]))
  }
  switch (type) {
    case 'boolean':
      return true
    case 'integer':
    case 'number':
      return 7
    case 'array':
      return [sample(items ?? {}), `second ${String(sample(items ?? {}))}`]
    case 'object':
      return { 'fs.a.b': 'x=y, z', other: '--json' }
    default:
      return 'a b,c=d "e" ñ'
  }
}
