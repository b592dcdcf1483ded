import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { brokerError, call } from '../../broker/rpc/client.ts'
import { connectAs, type NatsConnection } from '../../broker/rpc/connection.ts'
import { readTextFile, quarantine, writeSecretFile } from '../../broker/common/files.ts'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig } from '../../config/platform.ts'
import { brokerUrl } from '../../broker/server/server.ts'
import type { Output } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { files, homeVariable } from '../../subjects/kit/names.ts'
import { confirm } from '../confirm.ts'
import type { Context, Globals } from '../context.ts'
import { createLog } from '../log.ts'
import { jsonText } from '../output/present.ts'
import { homeFolder } from '../sign-in/token.ts'

/**
 * `gantry credential recover`: makes the local operator an administrator again. The identity in the configuration folder
 * is the proof that one may; a platform that runs does it at once, any other at its next start.
 */
export async function recover(
  context: Context,
  { json, yes = false }: Globals & { yes?: boolean },
): Promise<void> {
  const home = homeFolder(context)
  if (!existsSync(join(home, files.config)))
    throw new GantryError(
      'NOT_FOUND',
      `there is no ${files.config} in ${home}: set ${homeVariable} to the configuration folder of the platform`,
    )
  await confirm(context, `This makes the local operator of ${home} an administrator again.`, yes)
  const path = join(home, files.credentials)
  const connection = await connectToRunning(home)
  const text = connection === undefined ? setTokenAside(path) : await recoverNow(connection, path)
  context.terminal.out(json ? jsonText(context.terminal, { result: text }) : `${text}\n`)
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
    ? `Key ${answer.id} may do everything again; its token is unchanged (${path}).`
    : `Made key ${answer.id}; its token is in ${path}.`
}

/** Without a token in its folder the platform makes a key when it starts. */
function setTokenAside(path: string): string {
  quarantine(path, 'replaced')
  return `The platform is not running. At its next start it makes an operator key, and stores the token in ${path}.`
}

/** A connection to the platform that runs on this folder, with its own identity; undefined when none runs. */
async function connectToRunning(home: string): Promise<NatsConnection | undefined> {
  const messaging = loadMessagingConfig(home)
  const { identity } = await loadPlatformConfig(home, messaging, await createLog('silent', { colour: false }))
  const url = brokerUrl(messaging)
  try {
    return await connectAs('PLATFORM', { url, identity, name: 'recover', once: true })
  } catch (error) {
    const known = brokerError(error, url)
    if (known.code === 'UNAVAILABLE') return undefined
    throw known
  }
}
