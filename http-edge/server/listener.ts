import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../../config/config-error.ts'
import { type ConfiguredPort, portProblem } from '../../config/ports.ts'
import { hostInUrl } from '../../subjects/kit/names.ts'

/** Has a server listen. @returns where clients on this host reach it. @throws ConfigError when it cannot, with the fix */
export async function listenOn(app: FastifyInstance, wanted: ConfiguredPort): Promise<string> {
  const { host, port } = wanted
  try {
    await app.listen({ host, port })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(portProblem(wanted, code), { cause })
  }
  const address = app.server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return `http://${hostInUrl(host)}:${bound}`
}
