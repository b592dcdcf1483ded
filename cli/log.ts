import { currentRequest } from '../broker/messages/request-context.ts'
import type { Log } from '../broker/common/log.ts'
import { filesystemKinds } from '../subjects/filesystems/kinds.ts'
import { catalogKinds } from '../subjects/metadata/kinds.ts'

const stderrFd = 2

/** Nobody logs secrets; were it done by mistake, under one of these names they would not be shown. */
const secretNames = [
  ...['token', 'password', 'secret', 'clientSecret', 'seed', 'salt', 'jwt'],
  ...['authorization', 'cookie', 'credential', 'operatorToken'],
  ...new Set(
    [...Object.values(filesystemKinds), ...Object.values(catalogKinds)].flatMap(
      ({ secrets }): readonly string[] => secrets,
    ),
  ),
]
const secretPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/** The log of the platform, on stderr: lines for people on a terminal, JSON lines elsewhere. */
export async function createLog(level: string, { colour }: { colour: boolean }): Promise<Log> {
  const { default: pino } = await import('pino')
  const options = logOptions(level)
  const log: Log = process.stderr.isTTY
    ? pino(options, await prettyStream(colour))
    : pino(options, pino.destination({ fd: stderrFd, sync: true }))
  return log
}

/** What each line has, and what none shows. */
export const logOptions = (level: string) => ({
  level,
  mixin: ofRequest,
  redact: { paths: secretPaths, censor: '[secret]' },
})

/** What each line says of the request that is worked on. */
function ofRequest(): object {
  const request = currentRequest()
  if (request === undefined) return {}
  const { requestId, trace } = request
  return trace === undefined ? { requestId } : { requestId, traceId: trace.traceId }
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
