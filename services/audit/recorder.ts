import type { AuditTrail } from '../../broker/audit/trail.ts'
import type { Outcome, Recorder } from '../../broker/rpc/recording.ts'
import { type Actor, actorOf, type AuditEntry } from '../../subjects/access/audit.ts'
import type { Caller } from '../../subjects/kit/contract.ts'
import type { Key } from '../../subjects/access/keys.ts'

/** Whose a key is, and how it is called. */
export type OwnerOf = (keyId: string) => Promise<Pick<Key, 'owner' | 'kind' | 'name'> | undefined>

/** Keys whose owners are remembered, some 200 bytes each: a look-up would be half of the cost of a record. */
const maxOwners = 10_000
/** A key that is renamed is recorded under its new name after so long at most. */
const rememberedMs = 5_000

type Who = Pick<AuditEntry, 'key'> & Actor

/** Puts outcomes of calls into the audit log, with the names of those who asked. */
export function auditRecorder(
  trail: Pick<AuditTrail<AuditEntry>, 'append' | 'requireRoom'>,
  ownerOf: OwnerOf,
): Recorder {
  const owners = new Map<string, { readonly who: Who; readonly untilMs: number }>()
  const whoIs = async (keyId: string): Promise<Who> => {
    const key = await ownerOf(keyId)
    // Users that are no keys are the platform's own.
    if (key === undefined) return { kind: 'platform' }
    const who = { key: keyId, ...actorOf(key) }
    if (owners.size === maxOwners) owners.clear()
    owners.set(keyId, { who, untilMs: performance.now() + rememberedMs })
    return who
  }
  const who = (caller: Caller | undefined): Who | Promise<Who> => {
    if (caller === undefined) return { kind: 'nobody' }
    if (caller.kind === 'platform') return { kind: 'platform' }
    const known = owners.get(caller.keyId)
    return known === undefined || known.untilMs < performance.now() ? whoIs(caller.keyId) : known.who
  }
  return {
    requireRoom: () => trail.requireRoom(),
    record: async ({
      contract,
      caller,
      object,
      path,
      details,
      removed,
      from,
      result,
      requestId,
    }: Outcome) => {
      const time = new Date().toISOString()
      await trail.append({
        time,
        ...(await who(caller)),
        what: contract.subject,
        ...(object === undefined ? {} : { object }),
        ...(path === undefined ? {} : { path }),
        ...(details === undefined ? {} : { details }),
        ...(removed === undefined ? {} : { removed }),
        ...(from === undefined ? {} : { from }),
        result,
        requestId,
      })
    },
  }
}
