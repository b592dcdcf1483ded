import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { fieldsOf, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { allPages } from '../../subjects/kit/pages.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { isRow, type Row } from '../output/fields.ts'
import { valueText } from '../output/format.ts'
import { presentOwn } from '../output/present.ts'
import { tableText } from '../output/table.ts'
import { yaml } from '../../config/yaml.ts'
import type { Session } from '../sign-in/session.ts'
import { type Document, documentsOf } from './documents.ts'
import { type DocumentKind, documentKinds } from './kinds.ts'

/** What became of a document, or would. */
interface Result {
  readonly kind: string
  readonly name: string
  readonly action: 'created' | 'changed' | 'unchanged'
  readonly differences: readonly string[]
  /** Of a key that was made: it is shown only once. */
  readonly token?: string
}

const columns = ['kind', 'name', 'action', 'differences'] as const

/** What a dry run says of what would be done. */
const wouldBe = { created: 'would be created', changed: 'would be changed', unchanged: 'unchanged' } as const

/** A token is copied as a whole, which it is not where a table wraps it. */
const tokensText = (results: readonly Result[]): string =>
  results
    .flatMap(({ name, token }) => (token === undefined ? [] : [`\ntoken of ${name}:\n${token}\n`]))
    .join('')

/** `gantry apply`: makes and changes what the documents of a file say, and nothing that is so already. */
export async function apply(
  context: Context,
  globals: Globals,
  { file, dryRun = false }: { file: string; dryRun?: boolean },
): Promise<void> {
  const { terminal, env } = context
  const documents = documentsOf(file === '-' ? 'stdin' : file, await textOf(context, file), env)
  const results: Result[] = []
  const show = () =>
    presentOwn(terminal, globals, results, () => {
      const shown = columns.filter((column) => results.some((one) => valueText(one[column], column) !== ''))
      const cellOf = (one: Result, column: (typeof columns)[number]) =>
        column === 'action' && dryRun ? wouldBe[one.action] : valueText(one[column], column)
      const rows = results.map((one) => shown.map((column) => cellOf(one, column)))
      return results.length === 0 ? 'none\n' : `${tableText(terminal, shown, rows)}${tokensText(results)}`
    })
  try {
    await withSession(context, globals, async (session) => {
      for (const document of documents) results.push(await applyOne(session, document, dryRun))
    })
  } catch (error) {
    // What was done before is known to nobody else.
    if (results.length > 0) show()
    throw error
  }
  show()
}

async function textOf({ cwd, readStdin }: Context, file: string): Promise<string> {
  if (file === '-') return readStdin()
  const path = resolve(cwd, file)
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new GantryError('INVALID_INPUT', `--file: ${path} cannot be read (${code})`, { cause })
  }
}

async function applyOne(session: Session, document: Document, dryRun: boolean): Promise<Result> {
  const { kind, kindName, spec, place } = document
  const name = kind.by.map((field) => String(spec[field])).join(' ')
  try {
    const found = (await rowsOf(session, kind)).flatMap((row) => {
      const there = kind.specOf(row)
      return there !== undefined && kind.by.every((field) => there[field] === spec[field])
        ? [{ row, there }]
        : []
    })
    if (found.length > 1)
      throw new GantryError(
        'NOT_ACCEPTED',
        `${found.length} objects have this name: rename or delete the others, then apply the file again`,
      )
    const [known] = found
    if (known === undefined) {
      const reply = dryRun ? {} : await session.call(kind.create, spec)
      const token = isRow(reply) && typeof reply['token'] === 'string' ? { token: reply['token'] } : {}
      return { kind: kindName, name, action: 'created', differences: [], ...token }
    }
    const changed = differing(kind, spec, known.there)
    const differences = changed.map(
      (field) =>
        `${field}: ${valueText(known.there[field], field) || 'none'} → ${valueText(spec[field], field)}`,
    )
    if (changed.length === 0) return { kind: kindName, name, action: 'unchanged', differences }
    const call = changeOf(kind, spec, known.row, changed)
    if (!dryRun) await session.call(call.contract, call.input)
    return { kind: kindName, name, action: 'changed', differences }
  } catch (error) {
    if (!isGantryError(error)) throw error
    const { code, message, details, requestId } = error
    const text = `${place}: ${kindName} ${name}: ${message}`
    throw new GantryError(code, text, {
      cause: error,
      details,
      ...(requestId !== undefined && { requestId }),
    })
  }
}

/** Fields only of the request that makes it: what they said is done. */
const onlyAtFirst = ['autoStart', 'expiresInDays', 'defaultExclusions']

/** The fields of the document that are not as it says. Of what no reply shows nothing can be said. */
function differing({ secrets = [], same = {} }: DocumentKind, spec: Row, there: Row): string[] {
  return Object.keys(spec).filter((field) => {
    if (secrets.includes(field) || onlyAtFirst.includes(field)) return false
    const alike = same[field] ?? ((value: unknown) => value)
    const [wanted, known] = [spec[field], there[field]]
    // What is not shown is so by default.
    if (known === undefined) return !isDefault(wanted)
    return !includes(alike(known), alike(wanted))
  })
}

const isDefault = (value: unknown): boolean =>
  value === false || value === '' || (Array.isArray(value) && value.length === 0)

/** Whether all that is wanted is there; an object may have more, by its defaults. */
function includes(known: unknown, wanted: unknown): boolean {
  if (isRow(wanted) && isRow(known))
    return Object.entries(wanted).every(([name, value]) => includes(known[name], value))
  return isDeepStrictEqual(known, wanted)
}

/** The call that changes these fields. @throws GantryError NOT_ACCEPTED where there is none */
function changeOf(
  { create, isPut, update, by, updateBy, updateNames = {}, same = {}, secrets = [] }: DocumentKind,
  spec: Row,
  row: Row,
  changed: readonly string[],
) {
  if (isPut) return { contract: create, input: spec }
  const names = Object.keys(update === undefined ? {} : fieldsOf(update.input))
  const nameOf = (field: string) => updateNames[field] ?? field
  const valueOf = (field: string) =>
    field in updateNames ? (same[field]?.(spec[field]) ?? spec[field]) : spec[field]
  const fixed = changed.filter((field) => !names.includes(nameOf(field)))
  if (update === undefined || fixed.length > 0)
    throw new GantryError(
      'NOT_ACCEPTED',
      `${fixed.join(', ')} cannot be changed: delete the object, then apply the file again`,
    )
  const which = updateBy === undefined ? by : []
  const sent = Object.keys(spec).filter(
    (field) => changed.includes(field) || which.includes(field) || secrets.includes(field),
  )
  const input = Object.fromEntries(sent.map((field) => [nameOf(field), valueOf(field)]))
  return {
    contract: update,
    input: updateBy === undefined ? input : { ...input, [updateBy[0]]: row[updateBy[1]] },
  }
}

/** All that the platform has of the contract's list. */
async function rowsOf(session: Session, kind: DocumentKind): Promise<Row[]> {
  const rows = await listed(session, kind)
  const { get } = kind
  if (get === undefined) return rows
  const whole = async (row: Row) =>
    row[get.ifAny] === undefined
      ? row
      : ((await session.call(get.contract, { [get.by]: row[get.by] })) as Row)
  return Promise.all(rows.map(whole))
}

function listed(session: Session, { list, after }: DocumentKind): Promise<Row[]> {
  // The contract says that its reply is one.
  const page = (input: object) => session.call(list, input) as Promise<Row[]>
  return after === undefined
    ? page({})
    : allPages((last?: Row) => page(last === undefined ? {} : { after: last[after] }))
}

/** Name of the variable that a secret is taken from. */
const variableOf = (words: readonly string[]): string =>
  words
    .join('_')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()

/** `gantry export`: all that `apply` knows, in its format, without secrets. */
export async function exportAll(context: Context, globals: Globals): Promise<void> {
  const { Document: YamlDocument } = yaml()
  const texts = await withSession(context, globals, async (session) => {
    const parts: string[] = []
    for (const [kindName, kind] of Object.entries(documentKinds)) {
      for (const row of await rowsOf(session, kind)) {
        const spec = kind.specOf(row)
        if (spec === undefined || kind.isBuiltIn?.(row) === true) continue
        const { secrets = [], create, by } = kind
        const needed = secrets.filter((field) => jsonSchema(create.input).required?.includes(field))
        const variables = needed.map((field) => [
          field,
          `\${${variableOf([kindName, String(spec[by[0]!]), field])}}`,
        ])
        const document = new YamlDocument({
          kind: kindName,
          spec: { ...spec, ...Object.fromEntries(variables) },
        })
        if (secrets.length > 0) document.commentBefore = ` Secret fields, not exported: ${secrets.join(', ')}`
        parts.push(document.toString({ lineWidth: 0 }))
      }
    }
    return parts
  })
  context.terminal.out(texts.map((text) => `---\n${text}`).join(''))
}
