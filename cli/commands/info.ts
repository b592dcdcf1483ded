import { platform } from '../../subjects/platform/platform.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { presentOwn } from '../output/present.ts'
import { asTyped } from '../as-typed.ts'
import type { Session } from '../sign-in/session.ts'
import { type Firing, firingAlerts, firingFix } from './firing-alerts.ts'
import { healthOf } from './health.ts'
import { pairsText } from '../output/table.ts'

/** Undefined for a key that may not ask for alerts, and of a platform that cannot tell. */
async function firingOf(session: Session): Promise<Firing | undefined> {
  try {
    return await firingAlerts(session)
  } catch (error) {
    if (isGantryError(error)) return undefined
    throw error
  }
}

/** `gantry info`: what platform this is, and whether it is healthy. Resolves to the exit code. */
export async function info(context: Context, globals: Globals): Promise<number> {
  const { terminal } = context
  const [about, health, firing] = await withSession(context, globals, (session) =>
    Promise.all([session.call(platform.info, {}), healthOf(session), firingOf(session)]),
  )
  const { name, version, instance, broker, http } = about
  presentOwn(terminal, globals, { ...about, health, ...(firing && { firingAlerts: firing.count }) }, () => {
    const rows: [string, string][] = [
      [name, version],
      ['instance', instance],
      ['health', health.status],
      ...health.components
        // One that is healthy may have something to say, too.
        .filter(({ healthy, message }) => !healthy || message !== undefined)
        .map(({ name, message }): [string, string] => [`  ${name}`, message ?? 'not healthy']),
      ...(firing?.worst === undefined
        ? []
        : [['alerts', asTyped(terminal, `${firing.worst.text}; ${firingFix}`)] as [string, string]]),
      ['NATS', broker.tcp],
      ['WebSocket', broker.websocket],
      ...Object.entries(http).map(([server, url]): [string, string] => [server, url]),
    ]
    return pairsText(terminal, rows)
  })
  return health.status === 'healthy' ? exitCodes.ok.status : exitCodes.failed.status
}
