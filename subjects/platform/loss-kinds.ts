/** What can be wrong with stored state, found by comparing it with what was acknowledged. */
export const lossKinds = {
  LOST: 'The record was missing and was restored',
  ROLLED_BACK: 'An older version of the record was stored, and the last version was restored',
  RETURNED: 'A deleted record had returned and was deleted again',
  UNREADABLE: 'The bucket could not be read and was rebuilt from its journal',
  UNUSABLE:
    'The bucket could not be written, or its index could not be read, and it was rebuilt from its journal or from its readable records',
  IN_DOUBT:
    'The journal of the bucket is damaged too: its records have the last known version, which may be outdated, so keys were revoked and migrations stopped',
  MESSAGES_LOST:
    'Messages of the stream are missing and cannot be restored, unless it has a journal: then the next start of the platform restores its records',
  MESSAGES_RETURNED: 'Older messages that had been removed or replaced are in the stream again',
  STREAM_LOST: 'The stream was lost with all its messages and is created again when it is needed',
  BOOK_DAMAGED:
    'The file that records the contents of each stream is damaged: losses before this start cannot be detected',
  JOURNAL_DAMAGED: 'The journal of the bucket was damaged and was rewritten from the bucket',
} as const
export type LossKind = keyof typeof lossKinds

/** Losses that are listed; with more, the state is to be restored from a backup, not looked at one by one. */
export const maxLosses = 1_000
