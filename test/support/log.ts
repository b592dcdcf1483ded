import type { Log } from '../../broker/common/log.ts'

type Level = Exclude<keyof Log, 'level'>

export interface LogLine {
  readonly level: Level
  readonly details: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A log that keeps its lines, for tests of what is logged; `text` is all of it, as a log file would have it. */
export function recordingLog(): { log: Log; lines: LogLine[]; text(): string } {
  const lines: LogLine[] = []
  const at = (level: Level) => (details: object, message: string) => {
    lines.push({ level, details: { ...details }, message })
  }
  const log: Log = {
    level: 'info',
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  }
  return { log, lines, text: () => lines.map(lineText).join('\n') }
}

/** Errors have no enumerable fields: what a log file shows of them is their stack. */
const lineText = ({ level, details, message }: LogLine): string =>
  `${level} ${message} ${JSON.stringify(details, (_, value: unknown) =>
    value instanceof Error ? [value.stack, value.cause, Object.entries(value)] : value,
  )}`
