import { ConfigError } from './config-error.ts'
import { maxPort } from './port-settings.ts'

/**
 * From where a start can be reached, by variables of the environment: in a container everything must listen on its address,
 * and the host decides which of its ports are open.
 */
export interface Reach {
  /** Where all servers listen, whatever their files say. */
  readonly address: string | undefined
  /** Where the sign-in page for development listens too, although the address is not loopback. */
  readonly signInPort: number | undefined
}

export const addressVariable = 'GANTRY_LISTEN_ADDRESS'
export const signInPortVariable = 'GANTRY_DEVELOPMENT_SIGN_IN_PORT'

/** @throws ConfigError that names all that cannot be used */
export function reachOf(env: NodeJS.ProcessEnv): Reach {
  const address = env[addressVariable] || undefined
  const port = env[signInPortVariable] || undefined
  const problems: string[] = []
  if (address !== undefined && !/^[A-Za-z0-9.:_-]+$/.test(address))
    problems.push(`${addressVariable} must be an address such as 0.0.0.0, not ${JSON.stringify(address)}`)
  const signInPort = port === undefined ? undefined : Number(port)
  if (signInPort !== undefined && !(/^\d{1,5}$/.test(port!) && signInPort >= 1 && signInPort <= maxPort))
    problems.push(
      `${signInPortVariable} must be a port number from 1 to ${maxPort}, not ${JSON.stringify(port)}`,
    )
  if (problems.length > 0) throw new ConfigError(problems)
  return { address, signInPort }
}
