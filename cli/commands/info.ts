import { platform } from '../../subjects/platform/platform.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { presentOwn } from '../output/present.ts'
import { healthOf } from './health.ts'
import { pairsText } from '../output/table.ts'

/** `gantry info`: what platform this is, and whether it is healthy. Resolves to the exit code. */
export async function info(context: Context, globals: Globals): Promise<number> {
  const { terminal } = context
  const [about, health] = await withSession(context, globals, (session) =>
    Promise.all([session.call(platform.info, {}), healthOf(session)]),
  )
  const { name, version, instance, broker, http } = about
  presentOwn(terminal, globals, { ...about, health }, () => {
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
    return pairsText(terminal, rows)
  })
  return health.status === 'healthy' ? exitCodes.ok.status : exitCodes.failed.status
}
