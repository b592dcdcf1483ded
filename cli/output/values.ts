import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Contract } from '../../subjects/kit/contract.ts'
import type { FieldText } from '../../subjects/kit/coerce.ts'
import { siteMediaType } from '../../subjects/filesystems/properties.ts'
import { durationMs, durationPattern } from '../../subjects/kit/duration.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { unreadable } from '../failure.ts'
import { pathLines } from './path-lines.ts'
import { type Field, type Shape, typed } from './shape.ts'

/** Where values that are not typed come from. */
export interface ValueSources {
  /** Folder that relative paths start from. */
  readonly cwd: string
  readonly readStdin: () => Promise<string>
  /** Where notes go that are no result. */
  readonly terminal: { readonly err: (text: string) => void }
}

/** A secret or a JSON object is small; somebody named the wrong file. */
const maxFileBytes = 1_048_576

/**
 * The input of a call from the texts of its fields, by API name. Whether it is right the service says: a text that
 * cannot be converted stays as it is.
 * @throws GantryError INVALID_INPUT when a file or standard input cannot be read, an object is not written as JSON, or a record not as key=value
 */
export async function inputOf(
  contract: Contract,
  shape: Shape,
  given: ReadonlyMap<Field, FieldText>,
  sources: ValueSources,
): Promise<Record<string, unknown>> {
  const texts: Record<string, FieldText> = {}
  let stdinTakenBy: string | undefined
  for (const [field, text] of given) {
    const name = typed(shape, field)
    if (text === '-' && mayBeElsewhere(field)) {
      if (stdinTakenBy !== undefined) {
        throw new GantryError('INVALID_INPUT', `${stdinTakenBy} and ${name} cannot both be read from stdin`)
      }
      stdinTakenBy = name
    }
    const itsText = mayBeElsewhere(field)
      ? await fetchText(field, name, text, sources)
      : field.lines
        ? fetchLines(name, text, sources)
        : takesSiteFiles(field)
          ? await fetchProperties(field, name, text, sources)
          : fetchMoment(field, text)
    if (field.kind === 'object') checkJson(name, itsText)
    texts[field.name] = itsText
  }
  // It brings the validator with it, which help and completion do without.
  const { coerceFields } = await import('../../subjects/kit/coerce.ts')
  const input = coerceFields(contract.input, texts)
  for (const field of given.keys()) {
    if (field.kind === 'record') requireRecord(typed(shape, field), input[field.name])
  }
  return input
}

/** A time ago as the moment that it was. */
function fetchMoment({ moment }: Field, text: FieldText): FieldText {
  if (moment === undefined || typeof text !== 'string' || !ago.test(text)) return text
  const then = new Date(Date.now() - durationMs(text))
  return moment === 'epoch' ? String(then.getTime()) : then.toISOString()
}

const ago = new RegExp(durationPattern)

/** Whether `@file` and `-` stand for the content of a file and of standard input. */
export const mayBeElsewhere = ({ secret, kind, schema }: Field): boolean =>
  secret || kind === 'object' || (kind === 'text' && schema.contentMediaType !== undefined)

async function fetchText(
  { schema }: Field,
  name: string,
  text: FieldText,
  { cwd, readStdin }: ValueSources,
): Promise<FieldText> {
  if (typeof text !== 'string') return text
  if (text === '-') return contentOf(name, 'stdin', await readStdin())
  if (!text.startsWith('@')) return text
  const path = resolve(cwd, text.slice(1))
  const encoding = schema.contentEncoding === 'base64' ? 'base64' : 'utf8'
  return contentOf(name, path, readBytes(name, path).toString(encoding))
}

/** Several paths as JSON, so that none is divided at its commas; those of files as they are there. */
function fetchLines(name: string, text: FieldText, { cwd }: ValueSources): FieldText {
  const given = typeof text === 'string' ? [text] : text
  if (!given.some((one) => one.startsWith('@'))) return text
  return JSON.stringify(given.flatMap((one) => (one.startsWith('@') ? linesOf(name, cwd, one) : [one])))
}

/** Whether `@file` stands for the properties in a file of Hadoop's configuration: those alone are known by name. */
export const takesSiteFiles = ({ kind, schema }: Field): boolean =>
  kind === 'record' && schema.contentMediaType === siteMediaType

/** Properties one by one and those of files as one JSON object; of a name that is given twice the last one counts. */
async function fetchProperties(
  { schema }: Field,
  name: string,
  text: FieldText,
  { cwd, terminal }: ValueSources,
): Promise<FieldText> {
  const given = typeof text === 'string' ? [text] : text
  if (!given.some((one) => one.startsWith('@'))) return text
  const { sitePropertiesIn } = await import('../../config/site-files.ts')
  const patterns = Object.keys(schema.patternProperties ?? {}).map((pattern) => new RegExp(pattern, 'u'))
  const entries = given.flatMap((one): [string, string][] => {
    if (!one.startsWith('@')) {
      const [key = '', ...value] = one.split('=')
      return [[key, value.join('=')]]
    }
    const path = resolve(cwd, one.slice(1))
    const bytes = readBytes(name, path)
    if (bytes.length > maxFileBytes) throw tooLong(name, path)
    try {
      const { taken, left } = sitePropertiesIn(bytes, (key) => patterns.some((pattern) => pattern.test(key)))
      if (left > 0) terminal.err(`${path}: ignored properties without effect: ${left}\n`)
      return Object.entries(taken)
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause)
      throw new GantryError('INVALID_INPUT', `${name}: ${path} is not a Hadoop configuration: ${problem}`, {
        cause,
      })
    }
  })
  return JSON.stringify(Object.fromEntries(entries))
}

function linesOf(name: string, cwd: string, text: string): string[] {
  const path = resolve(cwd, text.slice(1))
  return pathLines(name, path, readBytes(name, path))
}

function readBytes(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new GantryError('INVALID_INPUT', `${name}: ${unreadable(path, cause)}`, { cause })
  }
}

/** The service would see a text, and could not say what is wrong with it. */
function checkJson(name: string, text: FieldText): void {
  try {
    JSON.parse(String(text))
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new GantryError('INVALID_INPUT', `${name} must be JSON: ${problem}`, { cause })
  }
}

/** The service would say that it must be an object, which is nothing that one types. */
function requireRecord(name: string, value: unknown): void {
  if (typeof value === 'object' && !Array.isArray(value)) return
  throw new GantryError('INVALID_INPUT', `${name} must be key=value (once per key) or a JSON object`)
}

/** Without the line break that editors and `echo` put at the end. */
function contentOf(name: string, where: string, text: string): string {
  if (text.length > maxFileBytes) throw tooLong(name, where)
  const content = text.replace(/\r?\n$/, '')
  if (content === '') throw new GantryError('INVALID_INPUT', `${name}: ${where} is empty`)
  return content
}

const tooLong = (name: string, where: string): GantryError =>
  new GantryError('INVALID_INPUT', `${name}: ${where} is larger than ${maxFileBytes} bytes`)
