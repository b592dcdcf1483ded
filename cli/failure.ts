import { problemOfFile } from '../config/file-problem.ts'
import { GantryError, isGantryError, type Problem } from '../subjects/kit/errors.ts'
import type { FieldText } from '../subjects/kit/coerce.ts'
import { type Field, fieldNames, kebab, orAgo, type Shape, typed } from './output/shape.ts'
import { asTyped } from './as-typed.ts'
import { printable, printableLines, type Terminal } from './output/terminal.ts'

/** What the service refused, in words of the command line. */
export class RefusedInput extends GantryError {
  readonly forPeople: string

  constructor(error: GantryError, forPeople: string) {
    const { code, message, details, requestId } = error
    super(code, message, { details, ...(requestId === undefined ? {} : { requestId }) })
    this.forPeople = forPeople
  }
}

/** What is wrong with a file that was to be read. */
export const unreadable = (path: string, cause: unknown): string => {
  const { code } = cause as NodeJS.ErrnoException
  return code === 'ENOENT' ? `${path} does not exist` : `${path} cannot be read (${code})`
}

/** The error with what to do about it. */
export const withFix = (error: GantryError, fix: string): GantryError =>
  new RefusedInput(error, `${error instanceof RefusedInput ? error.forPeople : error.message}; ${fix}`)

/**
 * The error with the flag beside each field that it names, when it names any, and with what else may be typed there.
 * @param given texts of the fields
 */
export function withFlags(
  error: unknown,
  shape: Shape,
  given: ReadonlyMap<Field, FieldText> = new Map(),
): unknown {
  const fieldOf = (name: string) => [...shape.args, ...shape.flags].find((one) => one.name === name)
  const wordOf = (name: string) => {
    const field = fieldOf(name)
    return field === undefined ? undefined : typed(shape, field)
  }
  return inWords(error, wordOf, (name) => {
    const field = fieldOf(name)
    return field === undefined
      ? ''
      : `${field.moment === undefined ? '' : `, ${orAgo}`}${asPath(field, given.get(field))}`
  })
}

/** A path that lacks its slash, as it is probably meant. */
function asPath({ schema: { pattern } }: Field, text: FieldText | undefined): string {
  if (pattern?.startsWith('^/') !== true || typeof text !== 'string' || text.startsWith('/')) return ''
  return new RegExp(pattern, 'u').test(`/${text}`) ? ` (did you mean /${text}?)` : ''
}

/**
 * The error with what the caller has set for each field that it names.
 * @param wordOf what that is; undefined for no field of its
 * @param more what is to be said after the problem of a field
 */
export function inWords(
  error: unknown,
  wordOf: (field: string) => string | undefined,
  more: (field: string) => string = () => '',
): unknown {
  if (!isGantryError(error) || !codesOfFields.includes(error.code)) return error
  const text = isProblems(error.details)
    ? error.details.map((problem) => `${problemText(problem, wordOf)}${more(problem.field)}`).join('; ')
    : error.message.replaceAll(fieldNames, (name) => wordOf(name) ?? name)
  return text === error.message ? error : new RefusedInput(error, text)
}

function problemText({ field, problem }: Problem, wordOf: (field: string) => string | undefined): string {
  const word = wordOf(field.split(/[.[]/)[0] ?? '')
  if (word === undefined) return `${field} ${problem}`.trim()
  // A flag is most often called as its field is.
  return word.replace(/^--/, '') === kebab(field) ? `${word} ${problem}` : `${word} (${field}) ${problem}`
}

/** Those of errors about what was given. */
const codesOfFields: readonly string[] = [
  'INVALID_INPUT',
  'NOT_ACCEPTED',
  'STORE_REFUSED',
  'STORE_UNREACHABLE',
]

const isProblems = (details: unknown): details is Problem[] =>
  Array.isArray(details) &&
  details.length > 0 &&
  details.every((one: Partial<Problem> | null) => typeof one?.field === 'string')

/**
 * Says on stderr why a command failed: one line for people, for programs the error's body as the service sent it (without a
 * request id when no service was reached), a stack for our own bugs.
 */
export function report(terminal: Terminal, error: unknown, { json }: { json: boolean }): void {
  if (!isGantryError(error)) {
    const text =
      problemOfFile(error) ?? (error instanceof Error ? (error.stack ?? error.message) : String(error))
    terminal.err(`${terminal.errStyle('red', 'error:')} ${printableLines(text)}\n`)
    return
  }
  terminal.err(json ? `${printable(error.toText(error.requestId))}\n` : `${lineOf(terminal, error)}\n`)
}

/** `error: message (CODE, request id)` */
function lineOf(terminal: Terminal, error: GantryError): string {
  const { code, requestId } = error
  const source = requestId === undefined ? code : `${code}, request ${requestId}`
  const message = error instanceof RefusedInput ? error.forPeople : error.message
  return `${terminal.errStyle('red', 'error:')} ${oneLine(asTyped(terminal, message))} ${terminal.errStyle('dim', `(${source})`)}`
}

/** Without line breaks and other control characters. */
export const oneLine = (text: string): string => printable(text.trim().replaceAll(/\s*[\r\n]+\s*/g, ' '))
