import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters, styleText } from 'node:util'
import { createContext } from '../../cli/context.ts'
import { main } from '../../cli/main.ts'
import type { Terminal } from '../../cli/output/terminal.ts'
import { installedCommand } from '../../cli/typed-command.ts'
import { until } from '../support/until.ts'

export const root = join(import.meta.dirname, '..', '..')

/** A terminal that keeps what is written to it. */
export interface TestTerminal extends Terminal {
  readonly written: { out: string; err: string }
}

export function testTerminal({
  isTty = false,
  columns = 100,
  colours = false,
  command = installedCommand,
} = {}): TestTerminal {
  const written = { out: '', err: '' }
  const style: Terminal['style'] = (format, text) =>
    colours ? styleText(format, text, { validateStream: false }) : text
  return {
    written,
    isTty,
    columns,
    rows: 24,
    command,
    errIsTty: isTty,
    errColours: colours,
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    style,
    errStyle: style,
  }
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Given {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  readonly stdin?: string
  readonly isTty?: boolean
}

/** Runs a command line in this process. */
export const gantry = (args: readonly string[], given: Given = {}): Promise<Ran> => begin(args, given).ended

/** The same, for those who look at what it writes meanwhile. */
export function begin(
  args: readonly string[],
  { env = {}, cwd = '/nowhere', stdin = '', isTty = false }: Given = {},
): { written: TestTerminal['written']; ended: Promise<Ran> } {
  const terminal = testTerminal({ isTty })
  const context = createContext({ env, cwd, terminal, readStdin: () => Promise.resolve(stdin) })
  const { written } = terminal
  return { written, ended: main(args, context).then((code) => ({ code, ...written })) }
}

/** A command in a process of its own, as a shell starts it. */
export interface CliProcess extends AsyncDisposable {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  /** All that it has written, without colours. */
  readonly written: { out: string; err: string }
  /** Waits until it has written this to stdout. */
  said(text: string): Promise<unknown>
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** @param through a command that runs what follows it */
export function spawnGantry(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  through: readonly string[] = [],
): CliProcess {
  const bin = join(root, 'node_modules', '.bin')
  const [program = '', ...rest] = [...through, join(root, 'cli', 'gantry.mjs'), ...args]
  const child = spawn(program, rest, {
    cwd: root,
    env: {
      ...process.env,
      PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
      // The session of whoever runs the tests is not theirs.
      XDG_CONFIG_HOME: '/nowhere',
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const written = { out: '', err: '' }
  child.stdout.on('data', (chunk) => (written.out += stripVTControlCharacters(String(chunk))))
  child.stderr.on('data', (chunk) => (written.err += stripVTControlCharacters(String(chunk))))
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  return {
    child,
    written,
    ended,
    said: (text) =>
      until(`gantry ${args.join(' ')} says ${text}; it said ${JSON.stringify(written)}`, () =>
        written.out.includes(text),
      ),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
}
