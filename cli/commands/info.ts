import type { Output } from '../../subjects/kit/contract.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { platform } from '../../subjects/platform/platform.ts'
import { matches } from '../../subjects/kit/validate.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { jsonText } from '../output/present.ts'
import type { Session } from '../sign-in/session.ts'
import { pairsText } from '../output/table.ts'

type Health = Output<(typeof platform)['health']>

/** `gantry info`: what platform this is, and whether it is healthy. Resolves to the exit code. */
export async function info(context: Context, globals: Globals): Promise<number> {
  const { terminal } = context
  const [about, health] = await withSession(context, globals, (session) =>
    Promise.all([session.call(platform.info, {}), healthOf(session)]),
  )
  const { name, version, instance, broker, http } = about
  if (globals.json) {
    terminal.out(jsonText(terminal, { ...about, health }))
  } else {
    const rows: [string, string][] = [
      [name, version],
      ['instance', instance],
      ['health', health.status],
      ...health.components
        // One that is healthy may have something to say, too.
        .filter(({ healthy, message }) => !healthy || message !== undefined)
        .map(({ name, message }): [string, string] => [`  ${name}`, message ?? 'not healthy']),
      ['NATS', broker.tcp],
      ['WebSocket', broker.websocket],
      ...Object.entries(http).map(([server, url]): [string, string] => [server, url]),
    ]
    terminal.out(pairsText(terminal, rows))
  }
  return health.status === 'healthy' ? exitCodes.ok.status : exitCodes.failed.status
}

/** A platform that is not healthy answers an error, with the same details. */
async function healthOf(session: Session): Promise<Health> {
  try {
    return await session.call(platform.health, {})
  } catch (error) {
    if (isGantryError(error, 'UNAVAILABLE') && matches(platform.health.output, error.details))
      return error.details
    throw error
  }
}
