import type { StoredRule } from './record.ts'

/** Something that a rule fires for, while it is so. */
export interface Observation {
  /** What it is about. */
  readonly object: string
  readonly summary: string
  readonly value?: number
}

/** What is known of one object by one rule; nothing when all is well with it. */
export interface Track {
  readonly beganMs: number
  /** When it was last so. */
  readonly lastMs: number
  readonly isFiring: boolean
}

export type Verdict = 'fire' | 'resolve' | undefined

/**
 * One look at one object: what is known of it from now on, and what becomes of its alert. A break ends the patience before
 * an alert, and something that comes back the patience after it.
 */
export function judge(
  { forSeconds, keepFiringForSeconds }: Pick<StoredRule, 'forSeconds' | 'keepFiringForSeconds'>,
  track: Track | undefined,
  isSo: boolean,
  nowMs: number,
): { track: Track | undefined; verdict: Verdict } {
  if (isSo) {
    const beganMs = track?.beganMs ?? nowMs
    const isFiring = track?.isFiring ?? false
    const fires = !isFiring && nowMs - beganMs >= forSeconds * 1_000
    return {
      track: { beganMs, lastMs: nowMs, isFiring: isFiring || fires },
      verdict: fires ? 'fire' : undefined,
    }
  }
  if (track?.isFiring !== true) return { track: undefined, verdict: undefined }
  const isOver = nowMs - track.lastMs >= keepFiringForSeconds * 1_000
  return isOver ? { track: undefined, verdict: 'resolve' } : { track, verdict: undefined }
}
