import { type Static, Type } from 'typebox'
import type { Sealer } from '../../../broker/identity/seal.ts'
import { isLoopbackHost } from '../../../subjects/kit/names.ts'
import { strict } from '../../../subjects/kit/schemas.ts'
import { loopbackCallbackPath } from '../../../subjects/access/sign-in.ts'
import { matches } from '../../../subjects/kit/validate.ts'
import { Refused } from '../refused.ts'

/** Time to find one's password and second factor. */
export const flowMs = 10 * 60_000

const Line = Type.String({ maxLength: 500 })

/**
 * A sign-in under way. Whoever began it keeps it, sealed; the platform keeps nothing, so that any node can complete it
 * and nobody can fill its memory by beginning.
 */
const Flow = strict({
  client: Type.Enum(['ui', 'cli']),
  redirectUri: Line,
  verifier: Line,
  state: Line,
  nonce: Line,
  /** Milliseconds since 1970. */
  expires: Type.Integer(),
})
export type Flow = Static<typeof Flow>

/** The same with a device code. */
const DeviceFlow = strict({
  deviceCode: Type.String({ maxLength: 1_000 }),
  verifier: Line,
  intervalSeconds: Type.Integer(),
  expires: Type.Integer(),
})
export type DeviceFlow = Static<typeof DeviceFlow>

export const sealFlow = (sealer: Sealer, flow: Flow | DeviceFlow): string => sealer.seal(JSON.stringify(flow))

/** @throws Refused when it was not sealed by us for this, or is over */
export const openFlow = (sealer: Sealer, sealed: string): Flow => open(Flow, sealer, sealed)

/** @throws Refused when it was not sealed by us for this, or is over */
export const openDeviceFlow = (sealer: Sealer, sealed: string): DeviceFlow => open(DeviceFlow, sealer, sealed)

function open<S extends typeof Flow | typeof DeviceFlow>(
  schema: S,
  sealer: Sealer,
  sealed: string,
): Static<S> {
  let flow: unknown
  try {
    flow = JSON.parse(sealer.open(sealed))
  } catch (cause) {
    throw new Refused('its flow was not issued by this platform', { cause })
  }
  if (!matches(schema, flow)) throw new Refused('its flow has another type or is from another release')
  if (flow.expires <= Date.now()) throw new Refused('its flow has expired')
  return flow
}

/**
 * Whether the command line may wait there: a loopback address by number, as a name could be made to lead elsewhere
 * (RFC 8252), on any port.
 */
export function isLoopbackRedirect(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    url.protocol === 'http:' &&
    url.hostname !== 'localhost' &&
    isLoopbackHost(url.hostname) &&
    text === `http://${url.host}${loopbackCallbackPath}`
  )
}
