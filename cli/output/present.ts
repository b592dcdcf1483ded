import type { Contract } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { fieldsOf, type JsonSchema, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { shellArgument } from '../../subjects/kit/shell-word.ts'
import { chartText } from './chart.ts'
import { fieldOf, fieldSchema, isRow, isRows, type Row, withFields } from './fields.ts'
import { type FormOptions, type Wanted, wantedOf } from './form.ts'
import { valueText } from './format.ts'
import { pairsText, tableText } from './table.ts'
import { printable, printableLines, type Terminal } from './terminal.ts'
import { asTyped } from '../as-typed.ts'
import { type View, views } from './views.ts'
import { yaml } from '../../config/yaml.ts'

/** What a reply is shown with beside its form. */
interface Shown extends Wanted {
  readonly input: Row
  /** What to do next is said where no person looks as well: something is wrong. */
  readonly isWrong?: boolean
}

/**
 * Writes the reply of a call: as JSON, YAML or names for programs, as a table or as names and values for people.
 * @throws GantryError INTERNAL when it is too deep for the stack, or too large for a text: only an extension answers so
 */
export function present(terminal: Terminal, contract: Contract, reply: unknown, wanted: Shown): void {
  try {
    show(terminal, contract, reply, wanted)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const text = `the reply of ${contract.resource} is too large or too deeply nested to show: request less data`
    throw new GantryError('INTERNAL', text, { cause })
  }
}

function show(
  terminal: Terminal,
  contract: Contract,
  reply: unknown,
  { form, columns: typed, input, isWrong = false }: Shown,
): void {
  const { columns, chart, next } = contract.cli ?? {}
  const schema = jsonSchema(contract.output)
  const asked = typed?.map((name) => byTitle(name, columns))
  const chosen = asked === undefined ? reply : withFields(reply, schema, asked)
  if (form === 'json' || form === 'yaml') {
    terminal.out(dataText(terminal, form, chosen))
    return
  }
  if (form === 'name') {
    const named = isRow(reply) ? givenName(contract, reply) : undefined
    if (asked === undefined && named !== undefined) terminal.out(`${printable(named)}\n`)
    else terminal.out(asked === undefined ? namesText(schema, reply, columns) : namesText({}, chosen, asked))
    return
  }
  if (chart && asked === undefined) {
    // The contract says that its reply is one.
    terminal.out(chartText(terminal, reply as Parameters<typeof chartText>[1]))
    return
  }
  if (asked !== undefined) {
    terminal.out(replyText(terminal, schemaOf(schema, asked), chosen, asked))
    return
  }
  if (isRow(reply) && Object.keys(reply).length === 0) {
    terminal.out(printable(doneText(contract, input)) + '\n')
    return
  }
  const wide = form === 'wide'
  const view = wide ? undefined : views[schema.title ?? '']
  const shown = view !== undefined && isRow(reply) ? inView(reply, view) : reply
  // Who asks for all columns gets them, however wide the terminal is.
  const place = wide ? { ...terminal, isTty: false } : terminal
  terminal.out(replyText(place, schema, shown, wide ? undefined : columns))
  const follows =
    isRow(reply) && next?.find(({ when }) => when === undefined || isMet(when, reply[when.field]))
  if (follows && (terminal.isTty || isWrong))
    terminal.err(`Next: ${asTyped(terminal, filled(follows.command, reply))}\n`)
  const limit = typeof input['limit'] === 'number' ? input['limit'] : maxPageLength
  if (isRows(reply) && reply.length >= limit && Object.hasOwn(fieldsOf(contract.input), 'after')) {
    const last = shellArgument(String(reply.at(-1)?.[pageKeyOf(schema, columns)]))
    terminal.err(printable(`There may be more results: repeat the command with --after ${last}`) + '\n')
  }
}

/** The field of a column that is asked for by what stands at its head. */
const byTitle = (name: string, columns: readonly string[] = []): string =>
  columns.find((column) => titleAmong(columns)(column) === name) ?? name

const isMet = (when: object, value: unknown): boolean =>
  'is' in when ? value === when.is : !('isNot' in when) || (value !== undefined && value !== when.isNot)

/** What a verb has done, where its reply has nothing to say. */
const pasts: Readonly<Record<string, string>> = {
  attach: 'attached',
  delete: 'deleted',
  'delete-webhook': 'deleted',
  detach: 'detached',
  remove: 'removed',
}

function doneText({ verb, cli }: Contract, input: Row): string {
  const of = (cli?.args ?? []).map((name) => input[name]).filter((value) => typeof value === 'string')
  return [pasts[verb] ?? 'done', ...of].join(' ')
}

/** The field by which a list goes on. */
function pageKeyOf({ items }: JsonSchema, columns: readonly string[] = []): string {
  const known = Object.keys(items?.properties ?? {})
  return known.includes('id') ? 'id' : (columns[0] ?? known[0] ?? '')
}

/** The fields of a view that say something. */
const inView = (reply: Row, { fields, onceStarted = [], figures, ifAny = [] }: View): Row => {
  const isQueued = onceStarted.length > 0 && reply['status'] === 'QUEUED'
  const shown = isQueued ? fields : [...fields, ...onceStarted]
  return Object.fromEntries([
    ...shown.filter((name) => valueText(reply[name], name) !== '').map((name) => [name, reply[name]]),
    ...(isQueued ? [['progress', 'not started yet']] : []),
    ...Object.entries(figures?.(reply) ?? {}),
    ...ifAny.filter((name) => !isNone(reply[name])).map((name) => [name, reply[name]]),
  ])
}

const isNone = (value: unknown): boolean =>
  value === undefined || value === 0 || value === false || (Array.isArray(value) && value.length === 0)

/** A text with the values of fields for its placeholders, as a shell takes them. */
export const filled = (text: string, values: Row): string =>
  printable(text.replaceAll(/\{(\w+)\}/g, (_, name: string) => shellArgument(String(values[name]))))

/** Writes what a command that is no call answers: as people read it, or in the form that is asked for. */
export function presentOwn(
  terminal: Terminal,
  options: FormOptions,
  reply: object,
  forPeople: () => string,
): void {
  const { form, columns } = wantedOf(options)
  const chosen = columns === undefined ? reply : withFields(reply, {}, columns)
  if (form === 'json' || form === 'yaml') terminal.out(dataText(terminal, form, chosen))
  else if (form === 'name') terminal.out(namesText({}, chosen, columns))
  else terminal.out(columns === undefined ? forPeople() : replyText(terminal, {}, chosen, columns))
}

/** Exactly the reply; for a person who looks at it in several lines, with escapes for what a terminal would obey. */
function dataText(terminal: Terminal, form: 'json' | 'yaml', reply: unknown): string {
  if (form === 'yaml') {
    const text = yaml().stringify(reply)
    return terminal.isTty ? printableLines(text) : text
  }
  return terminal.isTty
    ? `${printableLines(JSON.stringify(reply, undefined, 2))}\n`
    : `${JSON.stringify(reply)}\n`
}

/** By what each row is called, a line each: its first column. */
/** What an object is called by where its first field does not say it: the name that it was given. */
function givenName({ cli }: Contract, reply: Row): string | undefined {
  const [first] = Object.keys(reply)
  const [arg] = cli?.args ?? []
  if (first === 'id' || arg === undefined || Object.hasOwn(reply, 'id')) return undefined
  const name = reply[arg]
  return typeof name === 'string' ? name : undefined
}

function namesText(schema: JsonSchema, reply: unknown, columns: readonly string[] | undefined): string {
  if (isRow(reply)) {
    const lists = Object.entries(reply).filter(([, value]) => isRows(value))
    const [list] = lists
    const own = Object.entries(reply).find(([, value]) => !isRow(value) && !Array.isArray(value))
    if (list !== undefined && (own === undefined || own[0] !== Object.keys(reply)[0]))
      return namesText(fieldSchema(schema, list[0]) ?? {}, list[1], columns)
    return own === undefined ? '' : `${printableLines(String(own[1]))}\n`
  }
  if (!Array.isArray(reply)) return `${printableLines(String(reply))}\n`
  return reply
    .map((row: unknown) => {
      const known = isRow(row) ? Object.keys(schema.items?.properties ?? row) : []
      const [first = known[0] ?? ''] = columns?.filter((column) => known.includes(column)) ?? []
      return `${printable(String(isRow(row) ? row[first] : row))}\n`
    })
    .join('')
}

/** What is known of the fields that were asked for. */
function schemaOf(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const of = (outer: JsonSchema): JsonSchema => ({
    properties: Object.fromEntries(names.map((name) => [name, fieldSchema(outer, name) ?? {}])),
  })
  return schema.items === undefined ? of(schema) : { items: of(schema.items) }
}

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
  if (values.every((value) => isRows(value) && value.length === 0)) return 'none\n'
  const { plain, lists } = withoutLists(reply, '')
  const tables = lists.map(
    ({ name, rows }) =>
      `\n${terminal.style('bold', printable(name))}\n${replyText(terminal, fieldSchema(schema, name) ?? {}, rows, columns)}`,
  )
  return pairsText(terminal, pairsOf(terminal, plain, schema, '')) + tables.join('')
}

interface NamedRows {
  /** `running.migrations` of one in another. */
  readonly name: string
  readonly rows: readonly Row[]
}

/** An object, and its lists that have something, those of objects in it too. */
function withoutLists(row: Row, before: string): { readonly plain: Row; readonly lists: NamedRows[] } {
  const lists: NamedRows[] = []
  const plain = Object.entries(row).flatMap(([key, value]): [string, unknown][] => {
    const name = `${before}${key}`
    if (isRows(value) && value.length > 0) {
      lists.push({ name, rows: value })
      return []
    }
    if (!isRow(value)) return [[key, value]]
    const inner = withoutLists(value, `${name}.`)
    lists.push(...inner.lists)
    return [[key, inner.plain]]
  })
  return { plain: Object.fromEntries(plain), lists }
}

/** Fields whose texts are the platform's own, and may name commands. */
const ownTexts = ['conditions', 'detail', 'explanation', 'message', 'stateText', 'summary']

function cellText(terminal: Terminal, value: unknown, name: string, schema: JsonSchema | undefined): string {
  const text = valueText(value, name, schema)
  return ownTexts.includes(name) ? asTyped(terminal, text) : text
}

/** Fields in fields are shown below them, two spaces to the right. */
function pairsOf(terminal: Terminal, row: Row, schema: JsonSchema, indent: string): [string, string][] {
  return Object.entries(row).flatMap(([name, value]): [string, string][] => {
    const field = schema.properties?.[name] ?? {}
    if (Array.isArray(value) && value.length === 0 && field.items?.properties !== undefined)
      return [[`${indent}${name}`, 'none']]
    if (!isRow(value)) return [[`${indent}${name}`, cellText(terminal, value, name, field)]]
    return [[`${indent}${name}`, ''], ...pairsOf(terminal, value, field, `${indent}  `)]
  })
}

function rowsText(
  terminal: Terminal,
  schema: JsonSchema,
  rows: readonly Row[],
  wanted: readonly string[] | undefined,
): string {
  const known = Object.keys(schema.properties ?? rows[0] ?? {})
  const chosen =
    wanted?.filter((column) => known.includes(column) || fieldSchema(schema, column) !== undefined) ?? []
  const cellOf = (row: Row, column: string) =>
    cellText(terminal, fieldOf(row, column), lastOf(column), fieldSchema(schema, column))
  // A model of several kinds of things has more columns than any window.
  const columns =
    chosen.length > 0 ? chosen : known.filter((column) => rows.some((row) => cellOf(row, column) !== ''))
  const cells = rows.map((row) => columns.map((column) => cellOf(row, column)))
  return tableText(terminal, columns.map(titleAmong(columns)), cells)
}

/** What stands at the head of a column: the field itself, without those that it is in, unless another is called the same. */
const titleAmong =
  (columns: readonly string[]) =>
  (column: string): string =>
    columns.filter((other) => lastOf(other) === lastOf(column)).length > 1 ? column : lastOf(column)

const lastOf = (column: string): string => column.split('.').at(-1)!
