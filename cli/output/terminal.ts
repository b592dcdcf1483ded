import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import { type TypedCommand, typedCommand } from '../typed-command.ts'
import { unprintable } from '../../subjects/kit/unprintable.ts'

type Style = Parameters<typeof styleText>[0]

/** Where a command writes to. Results go out, everything else (errors, hints, logs) goes to err. */
export interface Terminal {
  /** Whether a person looks at what goes out. */
  readonly isTty: boolean
  readonly columns: number
  readonly rows: number
  /** How commands are typed there. */
  readonly command: TypedCommand
  out(text: string): void
  err(text: string): void
  /** The text in a style, or as it is where colours are not wanted. */
  style(style: Style, text: string): string
  readonly errIsTty: boolean
  readonly errColours: boolean
  /** The same for what goes to err. */
  errStyle(style: Style, text: string): string
}

/** Width of help and tables where there is no terminal that says its own. */
const defaultColumns = 100
const defaultRows = 24

/** The terminal of this process, which is the program in a folder; no colours when it is none, or NO_COLOR is set. */
export function processTerminal(
  folder: string,
  where: { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
): Terminal {
  const { env } = where
  let command: TypedCommand | undefined
  const { stdout, stderr } = process
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Whoever reads us has seen enough, as in `gantry keys list | head`.
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
  }
  const plain = Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb'
  const isTty = isatty(stdout.fd)
  const errIsTty = isatty(stderr.fd)
  const errColours = errIsTty && !plain
  const painter = (colours: boolean) => (style: Style, text: string) =>
    colours ? styleText(style, text, { validateStream: false }) : text
  return {
    isTty,
    get columns() {
      // A terminal of a program that gives it no size has 0.
      return stdout.columns || defaultColumns
    },
    get rows() {
      return stdout.rows || defaultRows
    },
    get command() {
      return (command ??= typedCommand(folder, where))
    },
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    style: painter(isTty && !plain),
    errIsTty,
    errColours,
    errStyle: painter(errColours),
  }
}

const unprintables = new RegExp(`[${unprintable}]`, 'g')

/** As JSON writes it where it must, and likewise what JSON would leave as it is: `\\n`, `\\u009b`. */
function escaped(char: string): string {
  const text = JSON.stringify(char).slice(1, -1)
  return text === char ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : text
}

/** A text of others for a terminal: control characters, which could move the cursor or worse, are made visible. */
export const printable = (text: string): string => text.replaceAll(unprintables, escaped)

/** The same for a text of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')
