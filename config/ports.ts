import { isBlockedByBrowsers } from './browser-ports.ts'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { ConfigError } from './config-error.ts'
import { portHolder } from './port-holder.ts'
import { addressVariable, type Reach, signInPortVariable } from './reach.ts'
import {
  flagOf,
  maxPort,
  offsetKey,
  type PortKey,
  portKeyOf,
  portKeys,
  portMeaning,
  type PortName,
  portNames,
  portSettings,
  portValue,
  variableOf,
} from './port-settings.ts'

/** Where a server listens, with what sets it. */
export interface ConfiguredPort {
  readonly host: string
  readonly port: number
  /** The file, flag or variable that sets the port. */
  readonly source: string
  /** What to change for another port: a key of the file, or the flag or variable itself. */
  readonly portKey: string
  readonly addressKey: string
  /** Without the offset; undefined for a port that no offset moves. */
  readonly base?: number
}
export type ConfiguredPorts = Readonly<Record<PortName, ConfiguredPort>> & {
  /** Of the sign-in page for development, where a variable says so. */
  readonly signIn?: ConfiguredPort
}

/** A value that counts for more than the file of a server. */
interface Given {
  readonly value: number
  readonly source: string
  /** Said for this start alone, so that no offset is added. */
  readonly isExact: boolean
}
export type GivenPorts = Readonly<Partial<Record<PortKey, Given>>>

/**
 * Ports that flags and variables of the environment give; a flag counts for more.
 * @throws ConfigError that names all that are no ports
 */
export function givenPorts(
  flags: Readonly<Partial<Record<PortKey, string>>>,
  env: NodeJS.ProcessEnv,
): GivenPorts {
  const problems: string[] = []
  const all = portKeys.flatMap((key) => {
    const [source, text] =
      flags[key] === undefined ? [variableOf(key), env[variableOf(key)]] : [flagOf(key), flags[key]]
    if (text === undefined || text === '') return []
    const value = portValue(key, text)
    if (value !== undefined) return [[key, { value, source, isExact: true }] as const]
    problems.push(`${source} must be ${portMeaning(key)}, not ${JSON.stringify(text)}`)
    return []
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.fromEntries(all)
}

/** What one file says of ports, in the same form. */
export const portsOfFile = (file: string, values: Readonly<Partial<Record<PortKey, number>>>): GivenPorts =>
  Object.fromEntries(
    portKeys.flatMap((key) =>
      values[key] === undefined ? [] : [[key, { value: values[key], source: file, isExact: false }]],
    ),
  )

/** Where a server listens by its own file. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/**
 * Where everything listens: by a flag, else a variable, else `gantry.config`, else the file of the server. The offset is added
 * to all but flags and variables, and to none of 0, which takes a free port. An address of `reach` counts for more than any.
 * @throws ConfigError that names all ports above the highest, and those that are there twice
 */
export function configuredPorts(
  files: Readonly<Record<PortName, ListenAddress>>,
  given: GivenPorts,
  reach?: Reach,
): ConfiguredPorts {
  const { value: offset = 0, source: offsetSource } = given[offsetKey] ?? {}
  const ports = Object.fromEntries(
    portNames.map((name) => {
      const its = portOf(name, files[name], given[portKeyOf(name)], offset)
      return [
        name,
        reach?.address === undefined ? its : { ...its, host: reach.address, addressKey: addressVariable },
      ]
    }),
  ) as Record<PortName, ConfiguredPort>
  const signIn = reach?.signInPort === undefined ? undefined : signInPortOf(ports.platform, reach.signInPort)
  const named = signIn === undefined ? ports : { ...ports, signIn }
  const all = Object.values(named)
  const problems = all
    .filter(({ port }) => port > maxPort)
    .map(
      ({ source, base, portKey }) =>
        `${source}: ${portKey} ${base} plus the offset ${offset} of ${offsetSource} is greater than ${maxPort}: choose a smaller offset`,
    )
  // NATS clients are no browsers.
  for (const { port, source, portKey } of all)
    if (port !== ports.broker.port && isBlockedByBrowsers(port))
      problems.push(
        `${source}: browsers refuse to connect to port ${port}: choose another ${offset === 0 ? portKey : `offset, or change ${portKey}`}`,
      )
  for (const [index, one] of all.entries()) {
    const other = all.slice(0, index).find((before) => overlap(before, one))
    if (other !== undefined)
      problems.push(
        `${one.source === one.portKey ? '' : `${one.source}: `}${one.portKey} must differ from ${other.source === other.portKey ? other.portKey : `${other.portKey} in ${other.source}`} (${one.port})`,
      )
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return named
}

const signInPortOf = ({ host, addressKey }: ConfiguredPort, port: number): ConfiguredPort => ({
  host,
  port,
  source: signInPortVariable,
  portKey: signInPortVariable,
  addressKey,
})

const isEverywhere = (host: string): boolean => host === '::' || host === '0.0.0.0'

/** Whether two cannot listen at the same time. */
const overlap = (one: ListenAddress, other: ListenAddress): boolean =>
  one.port === other.port &&
  one.port !== 0 &&
  (one.host === other.host || isEverywhere(one.host) || isEverywhere(other.host))

function portOf(
  name: PortName,
  { host, port: own }: ListenAddress,
  given: Given | undefined,
  offset: number,
): ConfiguredPort {
  const { file, portKey, addressKey } = portSettings[name]
  const { value, source, isExact } = given ?? { value: own, source: file, isExact: false }
  const key = given === undefined ? portKey : isExact ? source : portKeyOf(name)
  if (isExact || value === 0) return { host, port: value, source, portKey: key, addressKey }
  return { host, port: value + offset, base: value, source, portKey: key, addressKey }
}

/** The address, not the port, is the fault. */
const addressCodes = new Set<string | undefined>(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'])

/** Why a port cannot be used, and what to change. @param code of the system's error */
export function portProblem(
  { source, portKey, addressKey, host, port }: ConfiguredPort,
  code: string | undefined,
): string {
  const where = `${source}: port ${port} on ${host}`
  return code === 'EADDRINUSE'
    ? `${where} is in use by ${portHolder(port) ?? 'another program'}: stop it, or change ${portKey}`
    : `${where} cannot be used (${code}): change ${addressCodes.has(code) ? addressKey : portKey}`
}

/** Ports that cannot be used. */
export class PortsError extends ConfigError {
  /** An offset with which all ports are free, where there is one. */
  readonly freeOffset: number | undefined

  constructor(problems: readonly string[], freeOffset: number | undefined) {
    super(problems)
    this.name = 'PortsError'
    this.freeOffset = freeOffset
  }
}

/** The ports themselves, in order, and free ones for those that are 0. @throws PortsError that names all that cannot be used */
export async function requirePorts(ports: readonly ConfiguredPort[]): Promise<number[]> {
  const found = await Promise.all(ports.map(async (one) => ({ one, is: await tryPort(one) })))
  const problems = found.flatMap(({ one, is }) => (typeof is === 'number' ? [] : [portProblem(one, is.code)]))
  if (problems.length > 0) throw new PortsError(problems, await freeOffset(ports))
  return found.flatMap(({ is }) => (typeof is === 'number' ? [is] : []))
}

/** Tried in turn. Beyond the last, other ranges of ports begin that are taken by chance. */
const offsets = [1_000, 2_000, 3_000, 4_000, 5_000, 10_000, 20_000]

async function freeOffset(ports: readonly ConfiguredPort[]): Promise<number | undefined> {
  for (const offset of offsets) {
    const moved = ports.map((one) => (one.base === undefined ? one : { ...one, port: one.base + offset }))
    if (moved.some(({ port }) => port > maxPort)) return undefined
    if (moved.some(({ port }) => isBlockedByBrowsers(port))) continue
    const found = await Promise.all(moved.map(tryPort))
    if (found.every((one) => typeof one === 'number')) return offset
  }
  return undefined
}

/** The port, or the code with which the system refuses it. */
async function tryPort(wanted: ListenAddress): Promise<number | { readonly code: string | undefined }> {
  const probe = createServer()
  try {
    probe.listen(wanted.port, wanted.host)
    await once(probe, 'listening')
    const address = probe.address()
    return typeof address === 'object' && address !== null ? address.port : wanted.port
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code }
  } finally {
    probe.close()
  }
}
