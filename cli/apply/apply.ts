import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Contract } from '../../subjects/kit/contract.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { fieldsOf, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { allPages } from '../../subjects/kit/pages.ts'
import { detachCommand, inUseText } from '../../subjects/kit/in-use.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { isUnreachable } from '../exit-codes.ts'
import { unreadable } from '../failure.ts'
import { isRow, type Row } from '../output/fields.ts'
import { valueText } from '../output/format.ts'
import { presentOwn } from '../output/present.ts'
import { tableText } from '../output/table.ts'
import { yaml } from '../../config/yaml.ts'
import type { Session } from '../sign-in/session.ts'
import { type Document, documentsOf } from './documents.ts'
import { type DocumentKind, documentKinds, type FindNamed, type NameList, type Replacement } from './kinds.ts'

/** What is done, and what a dry run says of that. */
const actions = {
  created: { done: 'created', wouldBe: 'would be created' },
  changed: { done: 'changed', wouldBe: 'would be changed' },
  replaced: { done: 'replaced', wouldBe: 'would be replaced' },
  secretsSent: { done: 'secrets sent', wouldBe: 'secrets would be sent' },
  unchanged: { done: 'unchanged', wouldBe: 'unchanged' },
  failed: { done: 'failed', wouldBe: 'would fail' },
} as const

/** What became of a document, or would. */
interface Result {
  readonly kind: string
  readonly name: string
  readonly action: keyof typeof actions
  readonly differences: readonly string[]
  /** Why it failed. */
  readonly error?: string
  /** Of a key that was made: it is shown only once. */
  readonly token?: string
}

const columns = ['kind', 'name', 'action', 'differences'] as const

/** A token is copied as a whole, which it is not where a table wraps it. */
const tokensText = (results: readonly Result[]): string =>
  results
    .flatMap(({ name, token }) => (token === undefined ? [] : [`\ntoken of ${name}:\n${token}\n`]))
    .join('')

/**
 * `gantry apply`: makes and changes what the documents of a file say, and nothing that is so already. What fails does not
 * keep the others from being done.
 * @throws GantryError of what has failed, once all else is done and shown
 */
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
        column === 'action'
          ? actions[one.action][dryRun ? 'wouldBe' : 'done']
          : valueText(one[column], column)
      const rows = results.map((one) => shown.map((column) => cellOf(one, column)))
      return results.length === 0 ? 'none\n' : `${tableText(terminal, shown, rows)}${tokensText(results)}`
    })
  const failures: GantryError[] = []
  try {
    await withSession(context, globals, async (session) => {
      for (const [index, document] of documents.entries()) {
        try {
          const find = findIn(session, dryRun ? documents.slice(0, index) : [])
          results.push(await applyOne(session, document, { dryRun, find }))
        } catch (error) {
          // The others would not arrive either.
          if (!isGantryError(error) || isUnreachable(error)) throw error
          failures.push(error)
          const { kindName: kind, kind: its, spec } = document
          results.push({
            ...{ kind, name: nameIn(its, spec), action: 'failed', differences: [] },
            error: error.message,
          })
        }
      }
    })
  } catch (error) {
    // What was done before is known to nobody else.
    if (results.length > 0) show()
    throw error
  }
  show()
  const [first, ...more] = failures
  if (first === undefined) return
  if (more.length === 0) throw first
  const text = failures.map(({ message }) => message).join('; ')
  const which = `${failures.length} of ${plural(documents.length, 'object')} failed`
  throw new GantryError(first.code, `${which}: ${text}`, { cause: first })
}

const namesOf = ({ by, byIfGiven = [] }: DocumentKind, spec: Row): string[] =>
  [...by, ...byIfGiven].filter((field) => spec[field] !== undefined)

const nameIn = (kind: DocumentKind, spec: Row): string =>
  namesOf(kind, spec)
    .map((field) => String(spec[field]))
    .join(' ')

async function textOf({ cwd, readStdin }: Context, file: string): Promise<string> {
  if (file === '-') return readStdin()
  const path = resolve(cwd, file)
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new GantryError('INVALID_INPUT', `--file: ${unreadable(path, cause)}`, { cause })
  }
}

/** Finds what a document names. @param before those of a dry run: what they make is not there yet */
const findIn =
  (session: Session, before: readonly Document[]): FindNamed =>
  async (kindName, name) => {
    const kind = documentKinds[kindName]!
    const isIt = (spec: Row | undefined): boolean => spec !== undefined && nameIn(kind, spec) === name
    const planned = before.findLast((one) => one.kindName === kindName && isIt(one.spec))
    return planned?.spec ?? (await rowsOf(session, kind)).find((row) => isIt(kind.specOf(row)))
  }

async function applyOne(
  session: Session,
  document: Document,
  { dryRun, find }: { readonly dryRun: boolean; readonly find: FindNamed },
): Promise<Result> {
  const { kind, kindName, place } = document
  const name = nameIn(kind, document.spec)
  const { by, byIfGiven = [], compared = (one: Row) => one } = kind
  try {
    const rows = await rowsOf(session, kind)
    const found = rows.flatMap((row) => {
      const there = kind.specOf(row)
      const isIt =
        there !== undefined && [...by, ...byIfGiven].every((field) => there[field] === document.spec[field])
      return isIt ? [{ row, there }] : []
    })
    if (found.length > 1)
      throw new GantryError(
        'NOT_ACCEPTED',
        `${found.length} objects have this name: rename or delete the others, then apply the file again`,
      )
    const [known] = found
    if (known === undefined) {
      const reply = dryRun ? {} : await session.call(kind.create, document.spec)
      const token = isRow(reply) && typeof reply['token'] === 'string' ? { token: reply['token'] } : {}
      return { kind: kindName, name, action: 'created', differences: [], ...token }
    }
    const { spec, notes } = (await kind.meant?.(document.spec, known.there, find)) ?? {
      spec: document.spec,
      notes: [],
    }
    const [wanted, there] = [compared(spec), compared(known.there)]
    const changed = differing(kind, wanted, there).filter(
      (field) => kind.isBounded?.(field, wanted[field], known.row, rows) !== true,
    )
    // Whether those that are stored are the same, no reply tells.
    const sent = isChangeable(kind) ? (kind.secrets ?? []).filter((field) => spec[field] !== undefined) : []
    const differences = [
      ...changed.map((field) => {
        const [before, after] = [there, wanted].map((one) => valueText(one[field], field) || 'none')
        return `${field}: ${before} → ${after}`
      }),
      ...sent.map((field) => `${field}: sent, as secrets cannot be compared`),
    ]
    const done = { kind: kindName, name, differences: [...differences, ...notes] } as const
    if (differences.length === 0) return { ...done, action: 'unchanged' }
    if (!isChangeable(kind) && kind.replace !== undefined) {
      const replaced = { ...kind, replace: kind.replace }
      await (dryRun
        ? requireReplaceable(session, replaced, { spec, changed })
        : replace(session, replaced, { spec, there: known.there, changed }))
      return { ...done, action: 'replaced' }
    }
    const { lists = {} } = kind
    const others = changed.filter((field) => !Object.hasOwn(lists, field))
    const call = others.length + sent.length === 0 ? undefined : changeOf(kind, spec, known.row, others)
    if (!dryRun) {
      if (call !== undefined) await session.call(call.contract, call.input)
      for (const [field, list] of Object.entries(lists))
        if (changed.includes(field))
          await changeList(session, list, spec, namesIn(known.there, field), namesIn(spec, field))
    }
    return { ...done, action: changed.length === 0 ? 'secretsSent' : 'changed' }
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

const namesIn = (spec: Row, field: string): readonly unknown[] =>
  Array.isArray(spec[field]) ? (spec[field] as readonly unknown[]) : []

/** Puts on a list what is missing, and then takes off what is too much, so that it is never shorter than both. */
async function changeList(
  session: Session,
  { add, remove, of, item }: NameList,
  spec: Row,
  there: readonly unknown[],
  wanted: readonly unknown[],
): Promise<void> {
  const call = (contract: Contract, name: unknown) => session.call(contract, { [of]: spec[of], [item]: name })
  for (const name of wanted) if (!there.includes(name)) await call(add, name)
  for (const name of there) if (!wanted.includes(name)) await call(remove, name)
}

const isChangeable = ({ isPut, update }: DocumentKind): boolean => isPut === true || update !== undefined

type Replaced = DocumentKind & { readonly replace: Replacement }

/** What a replacement would be refused for. @throws GantryError IN_USE */
async function requireReplaceable(
  session: Session,
  { replace: { by, attachedAs } }: Replaced,
  { spec, changed }: { readonly spec: Row; readonly changed: readonly string[] },
): Promise<void> {
  if (attachedAs === undefined) return
  const id = String(spec[by])
  const kind = documentKinds['migration']!
  const users = (await rowsOf(session, kind)).filter((row) => {
    const attached = kind.specOf(row)?.[attachedAs]
    return Array.isArray(attached) && attached.includes(id)
  })
  if (users.length === 0) return
  const names = users.map((row) => String(row['migrationId']))
  const text = inUseText(id, names, 'detach it', (name) => detachCommand(attachedAs, name, id))
  throw notChangeable(changed, new GantryError('IN_USE', text))
}

function notChangeable(
  changed: readonly string[],
  { code, message, details, cause }: GantryError,
): GantryError {
  const text = `${changed.join(', ')} cannot be changed: ${message}, or give the object in the file another name`
  return new GantryError(code, text, { cause, details })
}

/** Deletes an object that nothing changes, and makes it again; where that fails, as it was. */
async function replace(
  session: Session,
  { create, replace: its }: Replaced,
  { spec, there, changed }: { readonly spec: Row; readonly there: Row; readonly changed: readonly string[] },
): Promise<void> {
  try {
    await session.call(its.delete, { [its.by]: spec[its.by] })
  } catch (error) {
    if (!isGantryError(error, 'IN_USE')) throw error
    throw notChangeable(changed, error)
  }
  try {
    await session.call(create, spec)
  } catch (error) {
    await session.call(create, there)
    throw error
  }
}

/** Fields only of the request that makes it: what they said is done. */
const onlyAtFirst = ['autoStart', 'defaultExclusions']

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
  { create, isPut, update, by, updateBy, ending = 'delete', secrets = [] }: DocumentKind,
  spec: Row,
  row: Row,
  changed: readonly string[],
) {
  if (isPut) return { contract: create, input: spec }
  const names = Object.keys(update === undefined ? {} : fieldsOf(update.input))
  const fixed = changed.filter((field) => !names.includes(field))
  if (update === undefined || fixed.length > 0) {
    throw new GantryError(
      'NOT_ACCEPTED',
      `${fixed.join(', ')} cannot be changed: ${ending} the object, then apply the file again`,
    )
  }
  const which = updateBy === undefined ? by : []
  const sent = Object.keys(spec).filter(
    (field) => changed.includes(field) || which.includes(field) || secrets.includes(field),
  )
  const input = Object.fromEntries(sent.map((field) => [field, spec[field]]))
  return {
    contract: update,
    input: updateBy === undefined ? input : { ...input, [updateBy[0]]: row[updateBy[1]] },
  }
}

/** All that the platform has of the contract's list. */
async function rowsOf(session: Session, kind: DocumentKind): Promise<Row[]> {
  const rows = await rowsInList(session, kind)
  const { get } = kind
  if (get === undefined) return rows
  const whole = async (row: Row) =>
    get.isPart(row) ? ((await session.call(get.contract, { [get.by]: row[get.by] })) as Row) : row
  return Promise.all(rows.map(whole))
}

async function rowsInList(session: Session, { list, listed, after, by }: DocumentKind): Promise<Row[]> {
  // The contract says that its reply is one, or a list of them.
  const page = (input: object) => session.call(list, { ...listed, ...input }) as Promise<Row[]>
  if (by.length === 0) return [(await session.call(list, {})) as Row]
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
