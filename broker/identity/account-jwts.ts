import { type Account, encodeAccount, encodeUser, type Export } from '@nats-io/jwt'
import { type AccountName, roots } from '../../subjects/kit/names.ts'
import { createKey } from './ed25519.ts'
import type { Identity, StorageLimits } from './identity.ts'
import { maxRequestBytes } from '../common/message-limits.ts'

const unlimited = -1
const generalLimits = {
  subs: unlimited,
  data: unlimited,
  payload: unlimited,
  imports: unlimited,
  exports: unlimited,
  wildcards: true,
  conn: unlimited,
  leaf: unlimited,
  disallow_bearer: false,
}

/** A request has some hundred bytes of headers; traces may add a few kB (`tracestate`). */
const maxHeaderBytes = 64 * 2 ** 10
/** An extension has a subscription for each of its endpoints; a page that follows events has a few. */
export const maxSubscriptions = 4_096

/**
 * Limits of each connection of keys: a message is no larger than the largest input, so that none that the services would
 * refuse is carried to them. They are those of the account, as nats-server does not hold a connection that a callout let
 * in to the limits of its user.
 */
export const clientLimits = {
  ...generalLimits,
  payload: maxRequestBytes + maxHeaderBytes,
  subs: maxSubscriptions,
}

const servicesPattern = `${roots.services}.>`
const eventsPattern = `${roots.events}.>`
/**
 * What transfer agents reach in PLATFORM. They have an account of their own, since nats-server does not check where the
 * reply to a request is wanted: what they ask for lands in their account, and in no bucket or stream of the platform.
 */
const agentServices = [
  { name: 'work', subject: '$JS.API.CONSUMER.MSG.NEXT.*.*', response_type: 'Stream' },
  { name: 'ends of work', subject: '$JS.ACK.>', response_type: 'Singleton' },
  { name: 'items of work', subject: `${roots.work}.>`, response_type: 'Singleton' },
  { name: 'failures', subject: `${roots.failures}.>`, response_type: 'Singleton' },
  { name: 'questions of agents', subject: `${roots.agents}.>`, response_type: 'Singleton' },
] as const
/** Discovery of micro-services, NATS ADR-32: every instance answers, so it is a service with a stream of replies. */
const discoveryPattern = '$SRV.>'

/** What the PLATFORM account offers to the others. */
export const platformExports: Export[] = [
  { name: 'services', subject: servicesPattern, type: 'service', response_type: 'Singleton' },
  { name: 'discovery', subject: discoveryPattern, type: 'service', response_type: 'Stream' },
  { name: 'events', subject: eventsPattern, type: 'stream' },
  ...agentServices.map((offered): Export => ({ ...offered, type: 'service' })),
]

/** The JWT of the PLATFORM account, with what it may store and what it offers to the others. */
export async function platformJwt(identity: Identity, limits: StorageLimits): Promise<string> {
  return signAccount(identity, 'PLATFORM', {
    limits: {
      ...generalLimits,
      mem_storage: limits.maxMemBytes,
      disk_storage: limits.maxFileBytes,
      streams: unlimited,
      consumer: unlimited,
      mem_max_stream_bytes: unlimited,
      disk_max_stream_bytes: unlimited,
      max_bytes_required: false,
      max_ack_pending: unlimited,
    },
    exports: platformExports,
  })
}

async function signAccount(identity: Identity, name: AccountName, claims: Partial<Account>) {
  const { account, signing } = identity[name]
  const withKey = { limits: generalLimits, ...claims, signing_keys: [signing.getPublicKey()] }
  return encodeAccount(name, account, withKey, { signer: identity.operator.signing })
}

/** What nats-server needs to know of the identity: the JWT of each account by its public key, and the sentinel. */
export async function serverCredentials(identity: Identity) {
  const platform = identity.PLATFORM.account.getPublicKey()
  const gantry = identity.GANTRY.account.getPublicKey()
  const agents = identity.AGENTS.account.getPublicKey()
  const service = { account: platform, type: 'service' } as const
  const jwts = {
    SYS: await signAccount(identity, 'SYS', {}),
    AUTH: await signAccount(identity, 'AUTH', {
      authorization: {
        auth_users: [identity.calloutUser.getPublicKey()],
        allowed_accounts: [gantry, agents],
      },
    }),
    PLATFORM: identity.fields['gantry.jwt'],
    GANTRY: await signAccount(identity, 'GANTRY', {
      limits: clientLimits,
      imports: [
        // `share` makes the server state the caller's identity in a header of each request (Nats-Request-Info).
        {
          name: 'services',
          subject: servicesPattern,
          local_subject: servicesPattern,
          share: true,
          ...service,
        },
        {
          name: 'discovery',
          subject: discoveryPattern,
          local_subject: discoveryPattern,
          share: true,
          ...service,
        },
        { name: 'events', subject: eventsPattern, account: platform, type: 'stream' },
      ],
    }),
    AGENTS: await signAccount(identity, 'AGENTS', {
      limits: clientLimits,
      imports: agentServices.map(({ name, subject }) => ({
        name,
        subject,
        local_subject: subject,
        share: true,
        ...service,
      })),
    }),
  }
  const sentinel = await encodeUser(
    'sentinel',
    createKey('U'),
    identity.AUTH.account,
    { bearer_token: true, pub: { deny: ['>'] }, sub: { deny: ['>'] } },
    { signer: identity.AUTH.signing },
  )
  return {
    operator: identity.fields['operator.jwt'],
    sentinel,
    jwts,
    systemAccount: identity.SYS.account.getPublicKey(),
  }
}
