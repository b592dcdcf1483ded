import { call } from '../../broker/rpc/client.ts'
import { resetPassword } from '../../config/development-accounts.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { product } from '../../subjects/kit/names.ts'
import { plural } from '../../subjects/kit/plural.ts'
import type { Context, Globals } from '../context.ts'
import { presentOwn } from '../output/present.ts'
import { homeFolder } from '../sign-in/token.ts'
import { asTyped } from '../as-typed.ts'
import { connectToRunning } from './running.ts'

/**
 * `gantry credential reset-password`: gives a user of the development sign-in page a new password, which is shown once, and
 * ends the sessions of whoever knew the old one. The password is in the configuration folder, where a platform that runs looks
 * at each sign-in.
 */
export async function resetDevelopmentPassword(
  context: Context,
  globals: Globals,
  user: string,
): Promise<void> {
  const home = homeFolder(context)
  const { password, account } = await resetPassword(home, user)
  const sessionsEnded = await endSessions(home, account.subject)
  presentOwn(
    context.terminal,
    globals,
    { user, password, ...(sessionsEnded !== undefined && { sessionsEnded }) },
    () =>
      asTyped(
        context.terminal,
        `The new password of ${user}, shown only once: ${password}\n${
          sessionsEnded === undefined
            ? `The platform is not running, so sessions of ${user} stay valid until they expire. To end them, run this command again while the platform is running.`
            : `${plural(sessionsEnded, 'session')} of ${user} ended.`
        }\nAPI keys of ${user} stay valid: list them with "${product} keys list", revoke them with "${product} keys revoke".\n`,
      ),
  )
}

/** How many were ended; undefined where no platform runs on this folder. */
async function endSessions(home: string, owner: string): Promise<number | undefined> {
  const connection = await connectToRunning(home, 'reset-password')
  if (connection === undefined) return undefined
  try {
    return (await call(connection, keysInternal['end-sessions'], { owner })).ended
  } finally {
    await connection.close()
  }
}
