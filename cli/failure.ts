import { GantryError, isGantryError, type Problem } from '../subjects/kit/errors.ts'
import { type Shape, typed } from './output/shape.ts'
import { printable, printableLines, type Terminal } from './output/terminal.ts'

/** A refusal of fields by the service, with what its fields are called on the command line. */
export class RefusedInput extends GantryError {
  readonly forPeople: string

  constructor(error: GantryError, forPeople: string) {
    const { code, message, details, requestId } = error
    super(code, message, { details, ...(requestId === undefined ? {} : { requestId }) })
    this.forPeople = forPeople
  }
}

/** The error with the flag beside each field that it names, when it names any. */
export function withFlags(error: unknown, shape: Shape): unknown {
  if (!isOfFields(error) || !isProblems(error.details)) return error
  const fields = [...shape.args, ...shape.flags]
  const lines = error.details.map(({ field: path, problem }) => {
    const field = fields.find(({ name }) => name === path.split(/[.[]/)[0])
    return field === undefined ? `${path} ${problem}`.trim() : `${typed(shape, field)} (${path}) ${problem}`
  })
  return new RefusedInput(error, lines.join('; '))
}

const isOfFields = (error: unknown): error is GantryError =>
  isGantryError(error, 'INVALID_INPUT') || isGantryError(error, 'NOT_ACCEPTED')

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
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
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
  return `${terminal.errStyle('red', 'error:')} ${oneLine(message)} ${terminal.errStyle('dim', `(${source})`)}`
}

/** Without line breaks and other control characters. */
export const oneLine = (text: string): string => printable(text.trim().replaceAll(/\s*[\r\n]+\s*/g, ' '))
