import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { readTextFile, quarantine, writeSecretFile } from '../../broker/common/files.ts'
import type { Output } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { files, homeVariable } from '../../subjects/kit/names.ts'
import { confirm } from '../confirm.ts'
import type { Context, Globals } from '../context.ts'
import { presentOwn } from '../output/present.ts'
import { homeFolder } from '../sign-in/token.ts'
import { connectToRunning } from './running.ts'

/**
 * `gantry credential recover`: makes the local operator an administrator again. The identity in the configuration folder
 * is the proof that one may; a platform that runs does it at once, any other at its next start.
 */
export async function recover(context: Context, globals: Globals & { yes?: boolean }): Promise<void> {
  const home = homeFolder(context)
  if (!existsSync(join(home, files.config)))
    throw new GantryError(
      'NOT_FOUND',
      `${home} has no ${files.config}: set ${homeVariable} to the configuration folder of the platform`,
    )
  await confirm(
    context,
    `This restores administrator rights of the local operator of ${home}.`,
    globals.yes === true,
  )
  const path = join(home, files.credentials)
  const connection = await connectToRunning(home, 'recover')
  const text = connection === undefined ? setTokenAside(path) : await recoverNow(connection, path)
  presentOwn(context.terminal, globals, { result: text }, () => `${text}\n`)
}

async function recoverNow(connection: NatsConnection, path: string): Promise<string> {
  const token = readTextFile(path)?.trim()
  let answer: Output<typeof keysInternal.recover>
  try {
    answer = await call(connection, keysInternal.recover, token ? { token } : {})
  } finally {
    await connection.close()
  }
  if (answer.token !== token) writeSecretFile(path, `${answer.token}\n`)
  return answer.token === token
    ? `Key ${answer.id} has all permissions again; its token is unchanged (${path}).`
    : `Created key ${answer.id}; its token is in ${path}.`
}

/** Without a token in its folder the platform makes a key when it starts. */
function setTokenAside(path: string): string {
  quarantine(path, 'replaced')
  return `The platform is not running. The next start creates an operator key and stores its token in ${path}.`
}
