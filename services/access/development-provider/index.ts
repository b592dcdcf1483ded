import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { http } from '../../../broker/common/http.ts'
import type { Log } from '../../../broker/common/log.ts'
import {
  defaultClockSkewSeconds,
  defaultGroupsClaim,
  defaultScopes,
  type OidcConfig,
} from '../../../config/platform.ts'
import { loopback, product } from '../../../subjects/kit/names.ts'
import {
  accountNames,
  createAccounts,
  type Passwords,
  readAccounts,
  renewUnseen,
  type StoredAccounts,
  writeAccounts,
} from '../../../config/development-accounts.ts'
import type { RequestHandler, SigningKey } from './provider.ts'

export interface DevelopmentProviderOptions {
  /** Configuration folder, where its port and the hashes of its passwords are. */
  readonly home: string
  /** Where browsers reach the platform. */
  readonly publicUrl: string
  /** How the command line is called; default: by its name. */
  readonly command?: string
  readonly log: Log
  /** Done once, before the accounts are stored. */
  readonly onFirstStart: () => Promise<void>
  /** Told of each wrong name or password, with the address that it came from. */
  readonly onWrong: (from: string | undefined) => void
  /** Where it listens when it starts for the first time, if that is free; default 8081. */
  readonly firstPort?: number
  /** Otherwise on loopback, on the port that it keeps. */
  readonly listenAt?: { readonly host: string; readonly port: number }
  /** Private keys to sign with; a new one unless they are given. */
  readonly keys?: readonly SigningKey[]
}

/** An identity provider in this process, for whoever has none; browsers reach it on loopback. */
export interface DevelopmentProvider {
  readonly config: OidcConfig
  /** Made just now, and never to be seen again. */
  readonly passwords: Partial<Passwords> | undefined
  stop(): Promise<void>
}

/** Listens; the provider itself is loaded with the first request, as that takes a third of a second. */
export async function startDevelopmentProvider(
  options: DevelopmentProviderOptions,
): Promise<DevelopmentProvider> {
  const { home, publicUrl, command = product, firstPort, listenAt, log, onWrong, keys } = options
  const known = readAccounts(home)
  const made = known ?? { ...(await createAccounts(firstPort)).stored, unseen: accountNames }
  const { stored, passwords } = await renewUnseen(made)
  const server = http.createServer()
  const port = await listen(server, stored.port, listenAt)
  const current: StoredAccounts = { ...stored, port }
  if (known === undefined) await options.onFirstStart()
  if (known?.port !== port || passwords !== undefined) writeAccounts(home, current)

  const host = `${loopback}:${port}`
  const config: OidcConfig = {
    issuer: `http://${host}`,
    clientId: `${product}-cli`,
    clientSecret: undefined,
    uiClientId: `${product}-ui`,
    uiClientSecret: undefined,
    scopes: defaultScopes,
    clockSkewSeconds: defaultClockSkewSeconds,
    groupsClaim: defaultGroupsClaim,
    postLogoutRedirectUri: `${publicUrl}/`,
  }
  let handler: Promise<RequestHandler> | undefined
  const load = async () => {
    const { createProvider } = await import('./provider.ts')
    return createProvider({
      config,
      publicUrl,
      command,
      // A password may be reset meanwhile.
      stored: () => readAccounts(home) ?? current,
      onWrong,
      keys,
    })
  }
  server.on('request', (request, response) => {
    // A name that somebody made resolve to this host is not this host (DNS rebinding).
    if (request.headers.host !== host) {
      response.writeHead(421).end()
      return
    }
    handler ??= load()
    handler
      .then((answer) => answer(request, response))
      .catch((err: unknown) => {
        log.error({ err }, 'The development provider failed.')
        if (!response.headersSent) response.writeHead(500)
        response.end()
      })
  })
  return { config, passwords, stop: () => close(server) }
}

/** Listens on the port, or on a free one when somebody else does. Resolves to it. */
async function listen(
  server: Server,
  port: number,
  exactly: DevelopmentProviderOptions['listenAt'],
): Promise<number> {
  if (exactly !== undefined) {
    server.listen(exactly.port, exactly.host)
    await once(server, 'listening')
    return exactly.port
  }
  try {
    server.listen(port, loopback)
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    server.listen(0, loopback)
    await once(server, 'listening')
  }
  return (server.address() as AddressInfo).port
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
