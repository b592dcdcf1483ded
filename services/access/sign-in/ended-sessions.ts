import type { Log } from '../../../broker/common/log.ts'
import { every } from '../../../broker/tasks/tasks.ts'
import type { KeyEnd, KeyEnds } from '../keys/ends.ts'
import type { KeyCollection } from '../keys/keys.ts'

/** A session that has ended is kept for a day, for whoever asks what became of it; the audit log knows it for longer. */
const keptMs = 24 * 3_600_000

/** Forgets sessions that ended long ago: each sign-in makes one. */
export async function purgeEndedSessions(
  keys: Pick<KeyCollection, 'erase'>,
  ends: Pick<KeyEnds, 'all' | 'forget'>,
  nowMs = Date.now(),
): Promise<number> {
  const ended = [...ends.all()].filter((key) => key.kind === 'session' && endMs(key) < nowMs - keptMs)
  for (const { id } of ended) {
    await keys.erase(id)
    ends.forget(id)
  }
  return ended.length
}

const endMs = ({ expires, revoked }: KeyEnd): number =>
  Math.min(...[expires, revoked].map((time) => (time === undefined ? Infinity : Date.parse(time))))

/** Does so now and every hour, until `stop`. */
export function keepPurging(keys: KeyCollection, ends: KeyEnds, log: Log): { stop(): void } {
  const purge = () =>
    purgeEndedSessions(keys, ends).catch((err: unknown) =>
      log.warn({ err }, 'Ended sessions could not be deleted; retrying in an hour.'),
    )
  void purge()
  return every('access.ended-sessions', purge)
}
