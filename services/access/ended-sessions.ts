import type { Log } from '../../broker/log.ts'
import type { KeyCollection, StoredKey } from './keys.ts'

/** A session that has ended is kept for a day, for whoever asks what became of it; the audit log knows it for longer. */
const keptMs = 24 * 3_600_000
const sweepEveryMs = 3_600_000

/** Forgets sessions that ended long ago: each sign-in makes one. */
export async function purgeEndedSessions(keys: KeyCollection, nowMs = Date.now()): Promise<number> {
  const all = await keys.all()
  const ended = all.filter((key) => key.kind === 'session' && endMs(key) < nowMs - keptMs)
  for (const { id } of ended) await keys.erase(id)
  return ended.length
}

const endMs = ({ expires, revoked }: StoredKey): number =>
  Math.min(...[expires, revoked].map((time) => (time === undefined ? Infinity : Date.parse(time))))

/** Does so now and every hour, until `stop`. */
export function keepPurging(keys: KeyCollection, log: Log): { stop(): void } {
  const purge = () =>
    purgeEndedSessions(keys).catch((err: unknown) =>
      log.warn({ err }, 'Sessions that ended could not be forgotten; trying again in an hour.'),
    )
  void purge()
  const timer = setInterval(() => void purge(), sweepEveryMs).unref()
  return { stop: () => clearInterval(timer) }
}
