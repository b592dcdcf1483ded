/** Words of what keeps a migration from moving, as plain data: the engine's threads use them without the schemas. */

export const conditionReasons = {
  WAITS_FOR_TURN: 'The limit of running migrations is reached (maxRunningMigrations)',
  WAITS_FOR_WINDOW: 'Outside the window of its schedule (recurringWindow)',
  WAITS_FOR_APPROVAL: 'Deletions at the target exceed the limit and wait for approval',
  WAITS_FOR_AGENT: 'Waiting for a transfer agent that reaches both stores',
  WAITS_FOR_STORAGE: 'The storage of the platform is nearly full (max_file in messaging.config)',
  BANDWIDTH_LIMITED: 'A limit applies',
  SOURCE_UNREACHABLE: 'The source does not answer',
  SOURCE_REFUSES: 'The source rejects requests, for example because of wrong credentials',
  SOURCE_THROTTLED: 'The source throttles requests; rejected requests are retried later',
  SOURCE_EMPTY: 'The source is empty; files already copied are kept at the target',
  SOURCE_CHANGED:
    'The source was replaced or is missing; nothing is copied or deleted until the right one is back',
  TARGET_UNREACHABLE: 'The target does not answer',
  TARGET_REFUSES: 'The target rejects requests: wrong credentials, no space left, or read-only',
  TARGET_THROTTLED: 'The target throttles requests; rejected requests are retried later',
  TRYING_AGAIN: 'Some paths failed and are being retried',
  PATHS_FAILED:
    'Some paths were not copied: "migrations failures" lists them with reasons, "migrations retry-failures" retries them',
  CANNOT_GO_ON: 'The work failed and is being restarted',
  WORK_LOST:
    'The storage of the broker was damaged and pending work is lost; everything is scanned or compared again, so that nothing is missing at the end',
  TARGET_IN_DOUBT:
    'This host failed before all copied files were on the disk of the target; source and target are scanned again and compared by content',
  TARGET_NOT_FLUSHED:
    'The files copied last may not be on the disk of the target yet; if this host restarts before the migration continues, source and target are scanned again and compared by content',
  RECORD_DAMAGED:
    'The stored record was damaged: check state and settings, then accept the damage with "gantry platform accept-losses"',
  COMPARING: 'The source does not report changes; comparing it with the target at intervals finds them',
  BEING_WRITTEN:
    'A file is written to continuously, and the target is behind; the file is copied when writing pauses',
  HARD_LINKS:
    'A file with several hard links was changed; its other names at the target are updated by the next full comparison',
} as const
export type ConditionReason = keyof typeof conditionReasons
export const conditionReasonNames = Object.keys(conditionReasons) as ConditionReason[]

/** Conditions with which nothing moves until something is mended, or another system answers again. */
export const brokenReasons: readonly ConditionReason[] = [
  'SOURCE_UNREACHABLE',
  'SOURCE_REFUSES',
  'SOURCE_CHANGED',
  'TARGET_UNREACHABLE',
  'TARGET_REFUSES',
  'CANNOT_GO_ON',
  'RECORD_DAMAGED',
]

/** Why something of a migration is tried again later. */
export interface Deferral {
  readonly reason: ConditionReason
  /** The last that was said of it, for a person. */
  readonly message: string
}
