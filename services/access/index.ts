import { type Admit, type RefusedConnection, startAuthCallout } from '../../broker/callout/auth-callout.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Events } from '../../broker/state/events.ts'
import type { Flood } from '../../broker/limits/flood-guard.ts'
import type { Identity } from '../../broker/identity/identity.ts'
import { KeyDropper } from '../../broker/callout/kick.ts'
import type { Log } from '../../broker/common/log.ts'
import { Openings } from '../../broker/callout/openings.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { AdminRules } from '../../config/platform.ts'
import type { SecurityConfig } from '../../config/security.ts'
import { createSealer, type Sealer } from '../../broker/identity/seal.ts'
import type { TokenLocation } from '../../broker/identity/token.ts'
import type { SlowReader } from '../../broker/callout/pending.ts'
import type { Violation } from '../../broker/callout/violations.ts'
import { auditedActions } from '../../subjects/access/audit.ts'
import type { Handlers } from '../../subjects/kit/contract.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import type { Key, keysInternal } from '../../subjects/access/keys.ts'
import type { OwnerLimits, Settings } from '../../subjects/access/settings.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { maxIdLength } from '../../subjects/kit/schemas.ts'

import { type Gate, Refusals, signInEntries, type SignInRequest, type Trail } from './audit.ts'
import { agentKeyHandlers } from './keys/agent-handlers.ts'
import { authoriser } from './authorise.ts'
import { type Authentication, createAuthentication } from './authentication.ts'
import { keyPermissionHandlers } from './keys/permissions.ts'
import { keepPurging } from './sign-in/ended-sessions.ts'
import { KeyEnds } from './keys/ends.ts'
import { type KeyDependencies, keyHandlers } from './keys/handlers.ts'
import { type SignIn, type SignInConfig, startSignIn } from './sign-in/sign-in.ts'
import { LocalOperator } from './keys/local-operator.ts'
import { ownerLimitsOf, OwnerRoom } from './keys/owner-limits.ts'
import { type Person, type Session, signIn } from './roles/people.ts'
import { assignmentHandlers, roleHandlers } from './roles/handlers.ts'
import { type AccessState, openState, readSettings } from './state.ts'
import { settingsHandlers, userHandlers } from './roles/user-handlers.ts'
import { rbacHandlers } from './check.ts'

export interface AccessOptions {
  readonly journals: RecordJournals | undefined
  /** Where changes of settings are told. */
  readonly events: Events
  readonly connections: {
    readonly platform: NatsConnection
    readonly auth: NatsConnection
    readonly system: NatsConnection
  }
  readonly identity: Identity
  /** Whether one more connection of a key is let in. */
  readonly admit: Admit
  readonly salt: string
  readonly location: TokenLocation
  readonly rules: AdminRules
  /** Access control of the migrator. */
  readonly security: SecurityConfig
  /** What flows of sign-in are sealed with. */
  readonly sealer: Sealer
  readonly signIn: SignInConfig
  readonly trail: Trail
  readonly metrics: MetricRegistry
  readonly log: Log
}

export interface Access {
  readonly handlers: ReturnType<typeof accessHandlers> & {
    readonly authentication: Authentication['handlers']
    readonly signIn: SignIn['handlers']
  }
  readonly internalHandlers: {
    readonly authentication: Authentication['internalHandlers']
    readonly keys: Handlers<typeof keysInternal>
  }
  /** Signs in somebody for whom a source has vouched. @throws GantryError UNAUTHENTICATED */
  signIn(person: Person, request?: SignInRequest): Promise<Session>
  /** Sign-in by the identity provider. */
  readonly provider: Omit<SignIn, 'handlers' | 'stop'>
  /** Records a connection that was refused before the broker heard of it. */
  readonly onRefusal: (refused: RefusedConnection) => void
  /** Records that connections of a key were closed, and why. */
  readonly onFlood: (flood: Flood) => void
  readonly onSlowReader: (reader: SlowReader) => void
  /** Records what the broker did not let a key do. */
  readonly onViolation: (violation: Violation) => void
  /** Tells what the settings are, and from then on of each change before it is answered. */
  followSettings(listener: (settings: Settings) => void): Promise<void>
  /** Whose a key is; undefined when there is none. */
  readonly ownerOf: (keyId: string) => Promise<Pick<Key, 'owner' | 'kind'> | undefined>
  /** Whose a key is, and what its owner may have; undefined when there is none. */
  readonly limitsOf: (keyId: string) => Promise<(OwnerLimits & Pick<Key, 'owner'>) | undefined>
  /** The same token, with the present place in it, when the broker would take it; else that of a new local operator key. */
  operatorToken(current: string | undefined): Promise<string>
  /** The token of the local operator, which changes when it was recovered. */
  readonly currentOperatorToken: () => string
  stop(): Promise<void>
}

/** What is recorded of a fault that nobody outside is told of. */
const unknownFault = { code: 'INTERNAL', message: 'the service failed' } as const

/** The handlers of all resources of access, by resource. */
const accessHandlers = (
  dependencies: KeyDependencies & {
    readonly state: AccessState
    readonly onSettings: (settings: Settings) => void
  },
) => ({
  keys: keyHandlers(dependencies),
  agentKeys: agentKeyHandlers(dependencies),
  roles: roleHandlers(dependencies.state),
  assignments: assignmentHandlers(dependencies.state),
  users: userHandlers(dependencies.state),
  settings: settingsHandlers(dependencies.state, dependencies.onSettings),
  rbac: rbacHandlers(dependencies.state),
})

/** Opens keys and roles, and answers the broker's question who is connecting. */
export async function startAccess({
  journals,
  connections,
  events,
  identity,
  admit: admitConnection,
  salt,
  location,
  rules,
  security,
  sealer,
  signIn: signInConfig,
  trail,
  metrics,
  log,
}: AccessOptions): Promise<Access> {
  const state = await openState(connections.platform, events, journals)
  const { keys } = state
  const issuer = { salt, location }
  const settingsListeners: ((settings: Settings) => void)[] = []
  const onSettings = (settings: Settings) => {
    for (const listener of settingsListeners) listener(settings)
  }
  const attempts = metrics.counter('auth.attempts.total', {
    help: 'Connections that presented a token, and sign-ins',
  })
  const failures = metrics.counter('auth.failures.total', { help: 'Those of them that were refused' })
  const authorise = authoriser(keys, { instance: identity.instance, salt, log })
  const refusals = new Refusals(trail, log)
  const onRefusal = ({ reason, keyId, from, result = 'UNAUTHENTICATED' }: RefusedConnection) => {
    failures.add()
    refusals.note({
      what: auditedActions.connect,
      result,
      reason,
      ...(from === undefined ? {} : { from }),
      ...(keyId === undefined ? {} : { key: keyId }),
    })
  }
  const ownerOf = (keyId: string) => keys.get(keyId)
  const violations = new Refusals(trail, log, async (keyId) => {
    const key = await ownerOf(keyId)
    return key === undefined ? { kind: 'nobody' } : { kind: key.kind, user: key.owner }
  })
  const onViolation = ({ action, subject, keyId, from }: Violation) =>
    violations.note({
      what: auditedActions[action],
      ...(subject === undefined ? {} : { object: subject.slice(0, maxIdLength) }),
      key: keyId,
      ...(from === undefined ? {} : { from }),
      result: 'DENIED',
    })
  const onClosed =
    (what: string) =>
    ({ keyId: key, from, reason }: Flood | SlowReader) =>
      violations.note({ what, key, ...(from === undefined ? {} : { from }), reason, result: 'THROTTLED' })
  const openings = new Openings()
  const callout = startAuthCallout(connections.auth, {
    identity,
    authorise: (token) => {
      attempts.add()
      return authorise(token)
    },
    admit: admitConnection,
    openings,
    onRefusal,
    log,
  })
  const dropper = new KeyDropper(connections.system, openings, log)
  const ends = await KeyEnds.open(keys)
  const purging = keepPurging(keys, ends, log)
  const kick = (keyId: string) => dropper.drop(keyId)
  const room = new OwnerRoom(state, kick)
  const operator = new LocalOperator({ keys, issuer, trail, kick, log })
  const refused: Gate['refused'] = (error, { from }) => {
    attempts.add()
    failures.add()
    const { code: result, message: reason } = isGantryError(error) ? error : unknownFault
    refusals.note({ what: auditedActions.signIn, result, reason, ...(from === undefined ? {} : { from }) })
  }
  const admit: Gate['signIn'] = async (person, request = {}) => {
    trail.requireRoom()
    const session = await signIn(person, { state, rules, issuer, room, kick }).catch((error: unknown) => {
      refused(error, request)
      throw error
    })
    attempts.add()
    await Promise.all(signInEntries(session, request).map((entry) => trail.append(entry)))
    return session
  }
  const authentication = createAuthentication({
    security,
    identity,
    keys,
    signIn: admit,
    refused,
    kick,
    log,
  })
  const { assignments } = state
  const provider = await startSignIn(signInConfig, {
    rules,
    assignments,
    keys,
    sealer,
    refreshSealer: createSealer(identity, 'refresh token'),
    sessionHours: async () => (await readSettings(state)).sessionHours,
    signIn: admit,
    refused,
    kick,
    log,
  })
  return {
    // The callout has not seen them.
    onRefusal: (connection) => {
      attempts.add()
      onRefusal(connection)
    },
    onViolation,
    onFlood: onClosed(auditedActions.flood),
    onSlowReader: onClosed(auditedActions.slowReader),
    handlers: {
      ...accessHandlers({ state, issuer, room, kick, onSettings }),
      authentication: authentication.handlers,
      signIn: provider.handlers,
    },
    internalHandlers: {
      authentication: authentication.internalHandlers,
      keys: { ...keyPermissionHandlers(state, ends), recover: ({ token }) => operator.recover(token) },
    },
    signIn: admit,
    provider,
    followSettings: async (listener) => {
      settingsListeners.push(listener)
      listener(await readSettings(state))
    },
    ownerOf,
    limitsOf: async (keyId) => {
      const key = await keys.get(keyId)
      return key && { owner: key.owner, ...(await ownerLimitsOf(state, key)) }
    },
    operatorToken: (current) => operator.tokenAtStart(current),
    currentOperatorToken: () => operator.token,
    stop: async () => {
      authentication.close()
      purging.stop()
      await ends.stop()
      dropper.stop()
      await Promise.all([callout.stop(), provider.stop()])
      await Promise.all([refusals.flush(), violations.flush()])
    },
  }
}
