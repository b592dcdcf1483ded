import { join } from 'node:path'
import { type Admit, type RefusedConnection, startAuthCallout } from '../../broker/callout/auth-callout.ts'
import { KeyDropper } from '../../broker/callout/kick.ts'
import { Openings } from '../../broker/callout/openings.ts'
import type { SlowReader } from '../../broker/callout/pending.ts'
import { readTextFile, writeSecretFile } from '../../broker/common/files.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Identity } from '../../broker/identity/identity.ts'
import { createSealer } from '../../broker/identity/seal.ts'
import type { TokenLocation } from '../../broker/identity/token.ts'
import type { Flood } from '../../broker/limits/flood-guard.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { Events } from '../../broker/state/events.ts'
import type { AdminRules } from '../../config/platform.ts'
import type { BasicConfig, SecurityConfig } from '../../config/security.ts'
import { assignments } from '../../subjects/access/assignments.ts'
import { actorOf, auditedActions } from '../../subjects/access/audit.ts'
import { authenticationInternal } from '../../subjects/access/authentication-internal.ts'
import { authentication } from '../../subjects/access/authentication.ts'
import { keys, keysInternal } from '../../subjects/access/keys.ts'
import { rbac, roles } from '../../subjects/access/roles.ts'
import { settings } from '../../subjects/access/settings.ts'
import { signIn } from '../../subjects/access/sign-in.ts'
import { users } from '../../subjects/access/users.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { files } from '../../subjects/kit/names.ts'
import { maxIdLength } from '../../subjects/kit/schemas.ts'
import { agentKeys } from '../../subjects/migrations/agents.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { Assembly } from '../kit/assembly.ts'
import type { Notices } from '../kit/notices.ts'
import { part, service } from '../kit/part.ts'
import { type Gate, Refusals, signInEntries, type Trail } from './audit.ts'
import { createAuthentication } from './authentication.ts'
import { authoriser } from './authorise.ts'
import { rbacHandlers } from './check.ts'
import { KeyEnds } from './keys/ends.ts'
import { agentKeyHandlers, keyHandlers } from './keys/handlers.ts'
import { type Issuer, localOperator } from './keys/keys.ts'
import { LocalOperator } from './keys/local-operator.ts'
import { ownerLimitsOf, OwnerRoom } from './keys/owner-limits.ts'
import { admin } from './roles/built-in-roles.ts'
import { keyPermissionHandlers } from './keys/permissions.ts'
import { endSessions } from './keys/end-sessions.ts'
import { assignmentHandlers, roleHandlers } from './roles/handlers.ts'
import { signIn as signInPerson } from './roles/people.ts'
import { settingsHandlers, userHandlers } from './roles/user-handlers.ts'
import { keepPurging } from './sign-in/ended-sessions.ts'
import { type SignInConfig, startSignIn } from './sign-in/sign-in.ts'
import { type AccessState, openState, readSettings } from './state.ts'

export interface AccessNeeds {
  readonly journals: RecordJournals | undefined
  /** Where changes of settings are published. */
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
  /** The user of the metadata service at the moment. */
  readonly metadataUser: () => BasicConfig | undefined
  readonly signInConfig: SignInConfig
  readonly trail: Trail
  readonly metrics: MetricRegistry
  readonly notices: Notices
  readonly log: Log
}

const store = part({
  name: 'access store',
  start: async ({ connections, events, journals, salt, location }: AccessNeeds) => {
    const issuer: Issuer = { salt, location }
    return { gives: { state: await openState(connections.platform, events, journals), issuer } }
  },
})

/** What is recorded of a fault that nobody outside is told of. */
const unknownFault = { code: 'INTERNAL', message: 'internal error' } as const

/** Counts and records who was refused, and what keys were not allowed to do. */
const refusalRecords = part({
  name: 'refusals',
  tasks: ['access.refusals'],
  start: ({ state, trail, metrics, notices, log }: AccessNeeds & { readonly state: AccessState }) => {
    const attempts = metrics.counter('auth.attempts.total', {
      help: 'Authentication attempts: connections with a token, and sign-ins',
    })
    const failures = metrics.counter('auth.failures.total', { help: 'Rejected authentication attempts' })
    const refusals = new Refusals(trail, log)
    const violations = new Refusals(trail, log, async (keyId) => {
      const key = await state.keys.get(keyId)
      return key === undefined ? { kind: 'nobody' } : actorOf(key)
    })
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
    const onClosed =
      (what: string) =>
      ({ keyId: key, from, reason }: Flood | SlowReader) =>
        violations.note({
          what,
          key,
          ...(from === undefined ? {} : { from }),
          reason,
          result: 'THROTTLED',
        })
    notices.on('refusal', (connection) => {
      // The callout has not seen it.
      attempts.add()
      onRefusal(connection)
    })
    notices.on('flood', onClosed(auditedActions.flood))
    notices.on('slowReader', onClosed(auditedActions.slowReader))
    notices.on('violation', ({ action, subject, keyId, from }) =>
      violations.note({
        what: auditedActions[action],
        ...(subject === undefined ? {} : { object: subject.slice(0, maxIdLength) }),
        key: keyId,
        ...(from === undefined ? {} : { from }),
        result: 'DENIED',
      }),
    )
    const refused: Gate['refused'] = (error, { from }) => {
      attempts.add()
      failures.add()
      const { code: result, message: reason } = isGantryError(error) ? error : unknownFault
      refusals.note({
        what: auditedActions.signIn,
        result,
        reason,
        ...(from === undefined ? {} : { from }),
      })
    }
    return {
      gives: { onAttempt: () => attempts.add(), onRefusal, refused },
      stop: () => Promise.all([refusals.flush(), violations.flush()]),
    }
  },
})

/** Answers the broker's question who is connecting. */
const callout = part({
  name: 'callout',
  start: ({
    connections,
    identity,
    admit,
    issuer,
    state,
    onAttempt,
    onRefusal,
    log,
  }: AccessNeeds & {
    readonly state: AccessState
    readonly issuer: Issuer
    readonly onAttempt: () => void
    readonly onRefusal: (refused: RefusedConnection) => void
  }) => {
    const authorise = authoriser(state.keys, { instance: identity.instance, salt: issuer.salt, log })
    const openings = new Openings()
    const answering = startAuthCallout(connections.auth, {
      identity,
      authorise: (token) => {
        onAttempt()
        return authorise(token)
      },
      admit,
      openings,
      onRefusal,
      log,
    })
    const dropper = new KeyDropper(connections.system, openings, log)
    return {
      gives: { kick: (keyId: string) => dropper.drop(keyId) },
      stop: async () => {
        dropper.stop()
        await answering.stop()
      },
    }
  },
})

/** Closes all connections of a key. */
type Kick = (keyId: string) => Promise<void>

const keyService = service({
  name: 'keys',
  contracts: { keys, agentKeys, keysInternal },
  tasks: ['access.ended-sessions'],
  start: async ({
    state,
    issuer,
    kick,
    signInConfig,
    trail,
    log,
  }: AccessNeeds & { readonly state: AccessState; readonly issuer: Issuer; readonly kick: Kick }) => {
    const ends = await KeyEnds.open(state.keys)
    const purging = keepPurging(state.keys, ends, log)
    const room = new OwnerRoom(state, kick)
    const operator = new LocalOperator({ keys: state.keys, issuer, trail, kick, log })
    const known = { state, issuer, room, kick }
    return {
      gives: {
        room,
        /** The token of the local operator, which changes when it was recovered. */
        operatorToken: () => operator.token,
        /** Whose a key is; undefined when there is none. */
        ownerOf: (keyId: string) => state.keys.get(keyId),
        /** Names of the roles of a key: those of its session, or of its owner. */
        rolesOf: async (keyId: string): Promise<readonly string[]> => {
          const key = await state.keys.get(keyId)
          if (key === undefined) return []
          if (key.roles.length > 0) return key.roles
          return key.owner === localOperator
            ? [admin.name]
            : ((await state.users.get(key.owner))?.roles ?? [])
        },
        /** Whose a key is, and what its owner may have; undefined when there is none. */
        limitsOf: async (keyId: string) => {
          const key = await state.keys.get(keyId)
          return key && { owner: key.owner, ...(await ownerLimitsOf(state, key)) }
        },
      },
      handlers: {
        keys: keyHandlers(known),
        agentKeys: agentKeyHandlers(known),
        keysInternal: {
          ...keyPermissionHandlers(state, ends),
          recover: ({ token }) => operator.recover(token),
          'end-sessions': async ({ owner }) => ({
            ended: await endSessions({ keys: state.keys, trail, kick }, owner),
          }),
        },
      },
      run: async () => {
        const path = join(signInConfig.home, files.credentials)
        const stored = readTextFile(path)?.trim()
        const token = await operator.tokenAtStart(stored)
        if (token !== stored) writeSecretFile(path, `${token}\n`)
      },
      stop: async () => {
        purging.stop()
        await ends.stop()
      },
    }
  },
})

const roleService = service({
  name: 'roles',
  contracts: { roles, assignments, users, settings, rbac },
  start: async ({ state, rules, notices }: AccessNeeds & { readonly state: AccessState }) => {
    notices.emit('settings', await readSettings(state))
    return {
      handlers: {
        roles: roleHandlers(state),
        assignments: assignmentHandlers(state, rules),
        users: userHandlers(state),
        settings: settingsHandlers(state, (changed) => notices.emit('settings', changed)),
        rbac: rbacHandlers(state),
      },
    }
  },
})

/** Signs in whoever a source has vouched for. */
const gate = part({
  name: 'gate',
  start: ({
    state,
    rules,
    issuer,
    room,
    kick,
    trail,
    onAttempt,
    refused,
  }: AccessNeeds & {
    readonly state: AccessState
    readonly issuer: Issuer
    readonly room: OwnerRoom
    readonly kick: Kick
    readonly onAttempt: () => void
    readonly refused: Gate['refused']
  }) => {
    const openSession: Gate['signIn'] = async (person, request = {}) => {
      trail.requireRoom()
      const session = await signInPerson(person, { state, rules, issuer, room, kick }).catch(
        (error: unknown) => {
          refused(error, request)
          throw error
        },
      )
      onAttempt()
      await Promise.all(signInEntries(session, request).map((entry) => trail.append(entry)))
      return session
    }
    return { gives: { openSession } }
  },
})

/** What sources of sign-ins need. */
type Signing = AccessNeeds & {
  readonly state: AccessState
  readonly openSession: Gate['signIn']
  readonly refused: Gate['refused']
  readonly kick: Kick
}

const authenticationService = service({
  name: 'authentication',
  contracts: { authentication, authenticationInternal },
  start: ({ security, metadataUser, identity, state, openSession, refused, kick, log }: Signing) => {
    const { handlers, internalHandlers, ...source } = createAuthentication({
      security,
      metadataUser,
      identity,
      keys: state.keys,
      signIn: openSession,
      refused,
      kick,
      log,
    })
    return {
      handlers: { authentication: handlers, authenticationInternal: internalHandlers },
      stop: () => source.close(),
    }
  },
})

const signInService = service({
  name: 'signIn',
  contracts: { signIn },
  tasks: ['access.bootstrap-warning'],
  start: async ({ signInConfig, rules, state, identity, openSession, refused, kick, log }: Signing) => {
    const provider = await startSignIn(signInConfig, {
      rules,
      assignments: state.assignments,
      keys: state.keys,
      sealer: createSealer(identity, 'flow'),
      refreshSealer: createSealer(identity, 'refresh token'),
      sessionHours: async () => (await readSettings(state)).sessionHours,
      signIn: openSession,
      refused,
      kick,
      log,
    })
    return {
      gives: {
        /** What anybody may know of how people sign in. */
        aboutSignIn: provider.about,
        /** Whether they do at the development provider. */
        isDevelopmentSignIn: provider.isDevelopment,
        /** By name, when the development provider has just made them. */
        developmentPasswords: provider.passwords,
      },
      handlers: { signIn: provider.handlers },
      health: () => provider.components(),
      stop: () => provider.stop(),
    }
  },
})

/** Keys, roles, people and their sessions, and the broker's question who is connecting. */
export const accessService = new Assembly<AccessNeeds>()
  .add(store)
  .add(refusalRecords)
  .add(callout)
  .add(keyService)
  .add(roleService)
  .add(gate)
  .add(authenticationService)
  .add(signInService)
  .as(
    'access',
    ({
      ownerOf,
      rolesOf,
      limitsOf,
      operatorToken,
      openSession,
      aboutSignIn,
      isDevelopmentSignIn,
      developmentPasswords,
    }) => ({
      ownerOf,
      rolesOf,
      limitsOf,
      operatorToken,
      openSession,
      aboutSignIn,
      isDevelopmentSignIn,
      developmentPasswords,
    }),
  )
