/** What can be wrong with stored state, found by comparing it with what was acknowledged. */
export const lossKinds = {
  LOST: 'It was missing, and was restored',
  ROLLED_BACK: 'An older version of it was stored, and the last one was restored',
  RETURNED: 'It had been deleted and was stored again, and was deleted once more',
  UNREADABLE: 'This bucket could not be read, and was made anew from its journal',
  UNUSABLE:
    'This bucket could not be written to, or its index not read: it was made anew from its journal or from what could be read of it',
  IN_DOUBT:
    'The journal of this bucket is damaged too: its records have the last version known, which may be outdated, so keys were revoked and migrations stopped',
  MESSAGES_LOST:
    'Messages are missing from it and cannot be restored, unless it has a journal: then the next start of the platform restores its records',
  MESSAGES_RETURNED: 'Older messages that had been removed or replaced are in it again',
  STREAM_LOST: 'It was lost with all its messages, and is created anew when it is needed',
  BOOK_DAMAGED:
    'The file that says what each stream had stored is damaged: losses before this start cannot be noticed',
  JOURNAL_DAMAGED: 'The journal of this bucket was damaged, and was written anew from the bucket',
} as const
export type LossKind = keyof typeof lossKinds
export const lossKindNames = Object.keys(lossKinds) as LossKind[]

/** Losses that are listed; with more, the state is to be restored from a backup, not looked at one by one. */
export const maxLosses = 1_000
