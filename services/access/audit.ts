import type { AuditTrail } from '../../broker/audit/trail.ts'
import type { Log } from '../../broker/common/log.ts'
import { whenDue } from '../../broker/tasks/tasks.ts'
import { type Actor, type AuditEntry, auditedActions } from '../../subjects/access/audit.ts'
import { keys } from '../../subjects/access/keys.ts'
import type { Call, Contract } from '../../subjects/kit/contract.ts'
import type { Person, Session } from './roles/people.ts'

/** Where access notes what no contract says. */
export type Trail = Pick<AuditTrail<AuditEntry>, 'append' | 'requireRoom'>

/** How long refusals are counted before they are recorded: whoever guesses makes one record a second. */
const countMs = 1_000
/** Reasons and addresses that are told apart within that time; a guesser with many addresses is one of them. */
const maxApart = 20

type Refused = Pick<AuditEntry, 'what' | 'object' | 'reason' | 'key' | 'from' | 'result'>

/** Whose a key is that was refused something. */
type WhoIs = (keyId: string) => Promise<Actor>

/**
 * Refusals by what was asked, reason and address, counted, so that a flood of them neither fills the log nor slows the
 * good requests. With `whoIs` they are of keys that were let in, and told apart by key; else a key is what somebody
 * without one said.
 */
export class Refusals {
  readonly #trail: Trail
  readonly #log: Log
  readonly #whoIs: WhoIs | undefined
  readonly #counted = new Map<string, Refused & { count: number }>()
  readonly #task = whenDue('access.refusals', () => this.flush())

  constructor(trail: Trail, log: Log, whoIs?: WhoIs) {
    this.#trail = trail
    this.#log = log
    this.#whoIs = whoIs
  }

  note(refused: Refused): void {
    const { what, object, reason, from, key } = refused
    const exact = JSON.stringify([what, object, reason, from, this.#whoIs && key])
    const isApart = this.#counted.has(exact) || this.#counted.size < maxApart
    const name = isApart ? exact : `${what} ${reason}`
    const known = this.#counted.get(name)
    if (known === undefined) {
      const { from: _from, object: _object, ...many } = refused
      this.#counted.set(name, { ...(isApart ? refused : many), count: 1 })
    } else {
      known.count += 1
      if (known.key !== refused.key) delete known.key
    }
    if (this.#task.nextMs === undefined) this.#task.due(countMs)
  }

  /** Records what was counted. */
  async flush(): Promise<void> {
    this.#task.notDue()
    const counted = [...this.#counted.values()]
    this.#counted.clear()
    try {
      if (counted.length > 0) this.#trail.requireRoom()
      await Promise.all(
        counted.map(async ({ count, ...refused }) => {
          const who = refused.key === undefined ? undefined : await this.#whoIs?.(refused.key)
          return this.#trail.append({
            time: new Date().toISOString(),
            kind: 'nobody',
            ...who,
            ...refused,
            ...(count === 1 ? {} : { count }),
          })
        }),
      )
    } catch (err) {
      this.#log.error({ err, refusals: counted.length }, 'Refusals could not be written to the audit log.')
    }
  }
}

/** What a sign-in was part of. */
export interface SignInRequest {
  /** Address of the client. */
  readonly from?: string
  readonly requestId?: string
}

/** The sign-in that a call is. */
export const requestOf = ({ requestId, clientAddress }: Call<Contract>): SignInRequest => ({
  requestId,
  ...(clientAddress === undefined ? {} : { from: clientAddress }),
})

/** How a person is let in whom a source has found, and how it is noted that none was. */
export interface Gate {
  /** Signs in somebody for whom a source has vouched. @throws GantryError UNAUTHENTICATED */
  readonly signIn: (person: Person, request?: SignInRequest) => Promise<Session>
  /** Notes a sign-in that was refused before anybody was known. */
  readonly refused: (error: unknown, request: SignInRequest) => void
}

/** The records of a sign-in: of itself, and of each key that it narrowed or revoked. */
export function signInEntries({ key, user, narrowed }: Session, request: SignInRequest): AuditEntry[] {
  const common = { time: new Date().toISOString(), user: user.subject, result: 'ok', ...request } as const
  return [
    { ...common, kind: 'session', key: key.id, what: auditedActions.signIn },
    ...narrowed.map(({ id, became }): AuditEntry => {
      const { subject: what } = became === 'revoked' ? keys.revoke : keys.update
      return { ...common, kind: 'platform', what, object: id }
    }),
  ]
}
