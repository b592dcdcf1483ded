import type { Log } from '../broker/log.ts'

const stderrFd = 2

/** The log of the platform, on stderr: lines for people on a terminal, JSON lines elsewhere. */
export async function createLog(level: string, { colour }: { colour: boolean }): Promise<Log> {
  const { default: pino } = await import('pino')
  const log: Log = process.stderr.isTTY
    ? pino({ level }, await prettyStream(colour))
    : pino({ level }, pino.destination({ fd: stderrFd, sync: true }))
  return log
}

async function prettyStream(colorize: boolean) {
  const { default: pretty } = await import('pino-pretty')
  return pretty({
    destination: stderrFd,
    sync: true,
    colorize,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    // Details of a sentence stay in its line; errors keep their stack.
    singleLine: true,
  })
}
