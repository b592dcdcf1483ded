import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../../config/config-error.ts'
import { hostInUrl, type HttpServerName, httpServers } from '../../subjects/kit/names.ts'
import type { ListenOptions } from './properties.ts'

/** Has a server listen. @returns where clients on this host reach it. @throws ConfigError when it cannot, with the fix */
export async function listenOn(
  app: FastifyInstance,
  server: HttpServerName,
  { host, port }: ListenOptions,
): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    throw new ConfigError(listenProblem(server, host, port, cause as NodeJS.ErrnoException), { cause })
  }
  const address = app.server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return `http://${hostInUrl(host)}:${bound}`
}

function listenProblem(
  server: HttpServerName,
  host: string,
  port: number,
  { code }: NodeJS.ErrnoException,
): string {
  const { propertiesFile, addressKey, portKey } = httpServers[server]
  const fix =
    code === 'EADDRINUSE'
      ? `is taken by another program: stop what uses it, or change ${portKey}`
      : `cannot be used (${code}): change ${code === 'EACCES' ? portKey : addressKey}`
  return `${propertiesFile}: port ${port} on ${host} ${fix}`
}
