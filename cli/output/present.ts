import type { Contract } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { fieldsOf, type JsonSchema, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { chartText } from './chart.ts'
import { valueText } from './format.ts'
import { pairsText, tableText } from './table.ts'
import { printable, printableLines, type Terminal } from './terminal.ts'

type Row = Readonly<Record<string, unknown>>

interface Wanted {
  readonly json: boolean
  readonly input: Row
}

/**
 * Writes the reply of a call: as JSON for programs, as a table or as names and values for people.
 * @throws GantryError INTERNAL when it is too deep for the stack, or too large for a text: only an extension answers so
 */
export function present(terminal: Terminal, contract: Contract, reply: unknown, wanted: Wanted): void {
  try {
    show(terminal, contract, reply, wanted)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const text = `${contract.resource} has answered what is too deep or too large to be shown`
    throw new GantryError('INTERNAL', text, { cause })
  }
}

function show(terminal: Terminal, contract: Contract, reply: unknown, { json, input }: Wanted): void {
  if (json) {
    terminal.out(jsonText(terminal, reply))
    return
  }
  const { columns, chart } = contract.cli ?? {}
  if (chart) {
    // The contract says that its reply is one.
    terminal.out(chartText(terminal, reply as Parameters<typeof chartText>[1]))
    return
  }
  terminal.out(replyText(terminal, jsonSchema(contract.output), reply, columns))
  const limit = typeof input['limit'] === 'number' ? input['limit'] : maxPageLength
  if (Array.isArray(reply) && reply.length >= limit && Object.hasOwn(fieldsOf(contract.input), 'after')) {
    terminal.err(`There may be more: ask again with --after and what the last line begins with.\n`)
  }
}

/** Exactly the reply; for a person who looks at it in several lines, with escapes for what a terminal would obey. */
export const jsonText = (terminal: Terminal, reply: unknown): string =>
  terminal.isTty ? `${printableLines(JSON.stringify(reply, undefined, 2))}\n` : `${JSON.stringify(reply)}\n`

function replyText(
  terminal: Terminal,
  schema: JsonSchema,
  reply: unknown,
  columns: readonly string[] | undefined,
): string {
  if (isRows(reply)) {
    return reply.length === 0 ? 'none\n' : rowsText(terminal, schema.items ?? {}, reply, columns)
  }
  if (!isRow(reply)) return `${printableLines(valueText(reply, '', schema))}\n`
  const values = Object.values(reply)
  if (values.length === 0) return 'done\n'
  if (values.every((value) => isRows(value) && value.length === 0)) return 'none\n'
  const lists = Object.entries(reply).filter(([, value]) => isRows(value) && value.length > 0)
  const plain = Object.fromEntries(
    Object.entries(reply).filter(([name]) => !lists.some(([one]) => one === name)),
  )
  const tables = lists.map(
    ([name, value]) =>
      `\n${terminal.style('bold', printable(name))}\n${replyText(terminal, schema.properties?.[name] ?? {}, value, columns)}`,
  )
  return pairsText(terminal, pairsOf(plain, schema, '')) + tables.join('')
}

/** Fields in fields are shown below them, two spaces to the right. */
function pairsOf(row: Row, schema: JsonSchema, indent: string): [string, string][] {
  return Object.entries(row).flatMap(([name, value]): [string, string][] => {
    const field = schema.properties?.[name] ?? {}
    if (!isRow(value)) return [[`${indent}${name}`, valueText(value, name, field)]]
    return [[`${indent}${name}`, ''], ...pairsOf(value, field, `${indent}  `)]
  })
}

function rowsText(
  terminal: Terminal,
  schema: JsonSchema,
  rows: readonly Row[],
  wanted: readonly string[] | undefined,
): string {
  const known = Object.keys(schema.properties ?? rows[0] ?? {})
  const chosen = wanted?.filter((column) => known.includes(column)) ?? []
  const columns = chosen.length > 0 ? chosen : known
  const cells = rows.map((row) =>
    columns.map((column) => valueText(row[column], column, schema.properties?.[column])),
  )
  return tableText(terminal, columns, cells)
}

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isRows = (value: unknown): value is readonly Row[] => Array.isArray(value) && value.every(isRow)
