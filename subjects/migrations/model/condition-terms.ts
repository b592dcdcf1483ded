/** Words of what keeps a migration from moving, as plain data: the engine's threads use them without the schemas. */

export const conditionReasons = {
  WAITS_FOR_TURN: 'No more migrations may run at once',
  WAITS_FOR_WINDOW: 'The windows of its schedule are closed (recurringWindow)',
  WAITS_FOR_APPROVAL: 'It deletes more at the target than it may without approval',
  WAITS_FOR_AGENT: 'Only transfer agents are to move it, and none is there that can',
  WAITS_FOR_STORAGE: 'The storage of the platform is nearly full (max_file in messaging.config)',
  BANDWIDTH_LIMITED: 'Limits are in force',
  SOURCE_UNREACHABLE: 'The source does not answer',
  SOURCE_REFUSES: 'The source takes nothing at the moment: wrong credentials',
  SOURCE_THROTTLED: 'The source asks for fewer requests: what it refused is tried again later',
  SOURCE_EMPTY: 'There is nothing at the source any more; what was copied from it is not removed',
  SOURCE_CHANGED:
    'The source has been replaced or is gone, and nothing is copied or removed until what belongs there is back',
  TARGET_UNREACHABLE: 'The target does not answer',
  TARGET_REFUSES: 'The target takes nothing at the moment: wrong credentials, no room, or read-only',
  TARGET_THROTTLED: 'The target asks for fewer requests: what it refused is tried again later',
  TRYING_AGAIN: 'Some paths failed, and are tried again',
  PATHS_FAILED:
    'Some paths were not copied: "migrations failures" lists them with their reasons, "migrations retry-failures" tries them again',
  CANNOT_GO_ON: 'The work on it broke off, and is begun again',
  WORK_LOST:
    'The broker’s store was damaged, and work of the migration is gone: all is scanned or compared once more, so that nothing is missing at the end',
  RECORD_DAMAGED:
    'Its stored record was damaged: check its state and settings, then accept the damage with "gantry platform accept-losses"',
  COMPARING:
    'Changes at the source are not told, but found by comparing it with the target from time to time',
  BEING_WRITTEN:
    'A file is written to whenever it is to be copied, so that the target is behind: it arrives when nobody writes to it for a moment',
  HARD_LINKS:
    'A file with several names was written to, and its other names at the target may be behind: the comparison that finds them comes later, so that comparing takes no more than a tenth of the time',
} as const
export type ConditionReason = keyof typeof conditionReasons
export const conditionReasonNames = Object.keys(conditionReasons) as ConditionReason[]

/** Why something of a migration is tried again later. */
export interface Deferral {
  readonly reason: ConditionReason
  /** The last that was said of it, for a person. */
  readonly message: string
}
