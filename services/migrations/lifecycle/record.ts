import { type Static, Type } from 'typebox'
import { LinkPolicy, Metadata } from '../../../subjects/migrations/model/metadata.ts'
import type { Upcaster } from '../../../broker/state/envelope.ts'
import { failureClassNames } from '../../../subjects/migrations/model/failure-classes.ts'
import {
  additionalProperties,
  EnteredState,
  maxKeptStates,
  maxPendingRegions,
  migrationPriorities,
  type MigrationState,
  migrationStates,
} from '../../../subjects/migrations/model/model.ts'
import { actionPolicyNames } from '../../../subjects/migrations/model/terms.ts'
import { movedBy } from '../../../subjects/migrations/agents.ts'
import { maxPathMappings, PathMapping } from '../../../subjects/migrations/model/path-mapping-model.ts'
import { maxRules } from '../../../subjects/migrations/model/rules.ts'
import {
  Count,
  list,
  maxTextLength,
  Name,
  Path,
  strict,
  Subject,
  Timestamp,
} from '../../../subjects/kit/schemas.ts'
import { DeletionSettings, Deletions } from '../../../subjects/migrations/model/target-match.ts'
import type { Counts } from '../../engine/run/counts.ts'
import { ended, Recurrence } from '../../scheduling/recurrence.ts'
import { FolderIdentity, SourceIdentity, StoredIdentity } from './source-identity.ts'
import { isBetweenScans, migrationKinds } from './states.ts'

/** What was done, in numbers; see `Counts` of the engine. */
const StoredCounts = Type.Record(Type.String({ maxLength: 40 }), Count('Count'))

/** With the rest of the state's text it has to fit into that. */
export const maxAbortCauseLength = 400

/** A folder that is to be scanned again. */
const PendingRegion = strict({
  id: Count('Unique in its migration'),
  path: Path('In the source'),
  /** Default: the migration's. */
  policy: Type.Optional(Type.Enum(actionPolicyNames)),
  created: Timestamp('When it was asked for'),
  /** Not the folder is meant, but what failed: the path is that of the migration. */
  failures: Type.Optional(
    strict({
      upTo: Count('Id of the last one'),
      failureClass: Type.Optional(Type.Enum(failureClassNames)),
    }),
  ),
  /** Id of the last failure before it was put into the queue: those up to it are over if they do not fail again. */
  failedUpTo: Type.Optional(Count('Id of a failure')),
  /** Whether what is at the target only is deleted in it, even if the migration does that nowhere else. */
  targetMatch: Type.Optional(Type.Boolean()),
  /** Whether it is in the queue. */
  queued: Type.Boolean(),
})
export type PendingRegion = Static<typeof PendingRegion>

/** A migration as it is stored. */
export const MigrationRecord = strict({
  migrationId: Name('Name of the migration'),
  internalId: Type.String({ minLength: 36, maxLength: 36 }),
  /** Not there for those of earlier releases. */
  owner: Type.Optional(Subject('Owner of the key that made it')),
  path: Path('Root of the migration in both filesystems'),
  source: Name('Source filesystem'),
  target: Name('Target filesystem'),
  policy: Type.Enum(actionPolicyNames),
  kind: Type.Enum(migrationKinds),
  priority: Type.Enum(migrationPriorities),
  /** Without them: the defaults. */
  metadata: Type.Optional(Metadata),
  links: Type.Optional(LinkPolicy),
  state: Type.Enum(migrationStates),
  /** Those that it entered last, the oldest first; not there where an earlier release was the last to change one. */
  states: Type.Optional(list(EnteredState, maxKeptStates)),
  resumable: Type.Boolean(),
  abortReason: Type.Optional(Type.Enum(['AUTO_ABORTED', 'MANUALLY_ABORTED_BY_USER'])),
  /** Of one that was aborted because it failed again and again. */
  abortCause: Type.Optional(Type.String({ maxLength: maxAbortCauseLength })),
  /** Grows with every beginning from the root; each has a queue, counts and failures of its own (`workIdOf`). */
  generation: Type.Integer({ minimum: 1 }),
  /** Whether the generation before ended before its work was done: its writers may have left something at the target. */
  cutShort: Type.Optional(Type.Boolean()),
  /** Whether the root is in the queue: an empty queue means finished only after that. */
  seeded: Type.Boolean(),
  created: Timestamp('When it was made'),
  /** Since when it has waited for its turn, and then for the end: of equal priority, who came first goes first. */
  scheduled: Type.Optional(Timestamp('When it was asked to run')),
  started: Type.Optional(Timestamp('When it was started first')),
  /** When nothing was left to be listed: what was found by then is all there is to copy. Until then more may be found. */
  listed: Type.Optional(Timestamp('When everything was listed')),
  /** When the queue was first empty in this generation: all that was there is copied. */
  scanned: Type.Optional(Timestamp('When the base scan was over')),
  completed: Type.Optional(Timestamp('When it was completed')),
  /** What is at the target of work that was handed back when it was stopped, or had to wait: counted when it goes on. */
  handedBack: Type.Optional(strict({ bytes: Count('Bytes'), files: Count('Files') })),
  /** Totals of this generation up to its last completion; what was done since is in the progress of the workers. */
  counts: Type.Optional(StoredCounts),
  /** Whether the queue and the progress that are kept, if any are, are of the scan that `counts` end with: they go first. */
  scanToForget: Type.Optional(Type.Boolean()),
  /** Ids, in the order in which they decide. */
  exclusions: Type.Optional(list(Name('Exclusion'), maxRules)),
  inclusions: Type.Optional(list(Name('Inclusion'), maxRules)),
  /** As they were when it was made. */
  pathMappings: Type.Optional(list(PathMapping, maxPathMappings)),
  recurrence: Type.Optional(Recurrence),
  /** Of a live one, in seconds. */
  comparisonSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
  movedBy: Type.Optional(movedBy),
  pendingRegions: list(PendingRegion, maxPendingRegions),
  /** As it was asked for; no more than the constant of this name ever wait. */
  maxPendingRegions: Type.Optional(Type.Integer({ minimum: 1 })),
  additionalProperties,
  /** Deletes what is at the target only when a scan is over. */
  targetMatch: Type.Optional(DeletionSettings),
  /** How a live one removes at the target what is removed at its source. */
  removals: Type.Optional(DeletionSettings),
  /** Of a live one, when they were counted last: a share of deletions is of these. */
  entriesAtTarget: Type.Optional(Count('Files and folders of the target')),
  /** Of the last scan that was over; of a live one, those that wait for approval. */
  deletions: Type.Optional(Deletions),
  /** Its source is cleaned up by itself so long after each completion. */
  cleanup: Type.Optional(strict({ afterSeconds: Count('Seconds; 0 for at once') })),
  /** The completion after which a cleanup was begun by itself. */
  cleanedAfter: Type.Optional(Timestamp('When it was completed')),
  /** Since when something that it brought may be at the target only. */
  cleaned: Type.Optional(Timestamp('When its source was first cleaned up')),
  /** Of a live one whose source nobody follows: what changed there from then on is not at the target. */
  behindSince: Type.Optional(Timestamp('Since when')),
  /** What the broker has lost of its queue, until all that it was about is found again. */
  lost: Type.Optional(
    strict({
      items: Type.Optional(Count('At least so many items, where somebody knows')),
      time: Timestamp('When that was noticed'),
    }),
  ),
  /**
   * Boot of this host in which something was written to the target that may not be on its disk: another boot may have lost
   * it. Not there for a target that keeps what it has answered for.
   */
  unflushedBoot: Type.Optional(Type.String({ minLength: 1, maxLength: 40 })),
  /** What was written could not be flushed when the work ended. */
  unflushed: Type.Optional(
    strict({
      since: Timestamp('When that was tried last'),
      reason: Type.String({ maxLength: maxTextLength }),
    }),
  ),
  /** What was written last before this host went down may be lost: what is at the target is read, until a scan is over and no path is among the failures. */
  inDoubt: Type.Optional(Type.Boolean()),
  /** What its source was when the work began, or when somebody accepted it; only of a folder of this host. */
  sourceIdentity: Type.Optional(SourceIdentity),
  /** The same of a store of another host that can be told from another one of its name. */
  storeIdentity: Type.Optional(StoredIdentity),
  /** Which folder its target is; the same. */
  targetIdentity: Type.Optional(FolderIdentity),
  /** Its source has been replaced, or is gone: nothing is done until it is back, or accepted. */
  sourceChanged: Type.Optional(
    strict({
      since: Timestamp('When that was seen first'),
      difference: Type.String({ maxLength: maxTextLength }),
      isGone: Type.Optional(Type.Boolean({ description: 'Whether nothing is there that could be accepted' })),
    }),
  ),
  /** Of a live one: all that was at the source then is at the target, as all of it was scanned again, whatever was told. */
  rescanned: Type.Optional(Timestamp('When that was asked for')),
  /** So many deletions somebody approved of. */
  approvedDeletions: Type.Optional(Count('Files and folders')),
})
export type MigrationRecord = Static<typeof MigrationRecord>

/** What a record keeps of work that has ended before its time. */
export type Left = Pick<MigrationRecord, 'behindSince' | 'handedBack'>

/** Where migrations are stored. */
export const recordBucket = 'migrations'
export const recordVersion = 3

/** From one-time migrations alone to all kinds; from one example of held deletions to some. */
export const recordUpcasters: Readonly<Record<number, Upcaster>> = {
  1: (document) => ({
    kind: 'once',
    priority: 'NORMAL',
    generation: 1,
    pendingRegions: [],
    ...(document as object),
  }),
  2: (document) => {
    const { deletions, ...record } = document as { deletions?: { example?: string } }
    if (deletions?.example === undefined) return document
    const { example, ...held } = deletions
    return { ...record, deletions: { ...held, samples: [example] } }
  },
}

/** Under which queue, progress and failures of a migration's generation are kept. */
export const workIdOf = ({ internalId, generation }: Pick<MigrationRecord, 'internalId' | 'generation'>) =>
  generation === 1 ? internalId : `${internalId}-${generation}`

/** The record at the beginning of a new generation: nothing is done yet. */
export function restarted(current: MigrationRecord): MigrationRecord {
  const {
    listed: _listed,
    scanned,
    completed: _completed,
    handedBack: _handedBack,
    counts: _counts,
    scanToForget: _toForget,
    cutShort: wasCutShort,
    deletions: _deletions,
    entriesAtTarget: _entries,
    cleanedAfter: _cleaned,
    approvedDeletions: _approved,
    behindSince: _behind,
    lost: _lost,
    rescanned: _rescanned,
    ...record
  } = current
  const cutShort = scanned === undefined && (record.seeded || wasCutShort === true)
  return {
    ...record,
    generation: record.generation + 1,
    ...(cutShort ? { cutShort } : {}),
    seeded: false,
    pendingRegions: [],
  }
}

/** Whether what the workers have stored of their progress is in `counts` already, and only not forgotten yet. */
export const isCounted = ({ state, scanToForget = false }: MigrationRecord): boolean =>
  scanToForget || isBetweenScans(state)

/** The record when nothing is kept of its last scan. */
export const scanForgotten = ({ scanToForget: _toForget, ...current }: MigrationRecord): MigrationRecord =>
  current

/** The record when the broker has lost items of its queue. */
export const withLost = (
  current: MigrationRecord,
  { items }: { readonly items?: number },
  now: Date,
): MigrationRecord => ({
  ...current,
  lost: { ...(items === undefined ? {} : { items }), time: now.toISOString() },
})

/** The record when everything is listed; the same where folders wait to be. */
export const listed = (current: MigrationRecord, now: Date): MigrationRecord =>
  current.listed !== undefined || current.pendingRegions.some(({ queued }) => !queued)
    ? current
    : { ...current, listed: now.toISOString() }

/** The record when all that those were about is found. */
export const found = ({ lost: _lost, ...current }: MigrationRecord): MigrationRecord => current

/** The record when the work goes on by what its host had not yet written to the disk when it went down. */
export const doubted = (current: MigrationRecord): MigrationRecord => ({ ...flushed(current), inDoubt: true })

/** The record when what is at the target is read: by a scan that is over, but for paths that have failed in it. */
export function read(current: MigrationRecord, failedPathCount: number): MigrationRecord {
  const { inDoubt: _doubt, ...sure } = current
  return failedPathCount > 0 ? current : sure
}

/** The record when all that this host has written is on the disk of the target. */
export const flushed = ({
  unflushedBoot: _before,
  unflushed: _told,
  ...current
}: MigrationRecord): MigrationRecord => current

/** The record when it has entered a state. */
export const entered = (current: MigrationRecord, state: MigrationState, now: Date): MigrationRecord => ({
  ...current,
  state,
  states: [...(current.states ?? []), { state, since: now.toISOString() }].slice(-maxKeptStates),
})

/** What every event about a migration says. */
export const factOf = ({ migrationId, internalId, state }: MigrationRecord) => ({
  migrationId,
  internalId,
  state,
})

/** Whether, and when, somebody has asked for all of it to be scanned again. */
function rescannedIn({ path, pendingRegions }: MigrationRecord): Pick<MigrationRecord, 'rescanned'> {
  const all = pendingRegions.filter((one) => one.failures === undefined && one.path === path)
  const rescanned = all.at(-1)?.created
  return rescanned === undefined ? {} : { rescanned }
}

/** The record when its queue is empty. */
export function scanned(
  current: MigrationRecord,
  { counts, failedPathCount }: { counts: Counts; failedPathCount: number },
  now: Date,
): MigrationRecord {
  const time = now.toISOString()
  const { behindSince: _behind, handedBack: _handedBack, ...rest } = read(found(current), failedPathCount)
  const { kind, recurrence } = current
  const live = { ...rest, scanned: current.scanned ?? time, pendingRegions: [], ...rescannedIn(current) }
  // It goes on writing.
  if (kind === 'live') return live
  const record = flushed(live)
  const totals = { counts, scanToForget: true }
  if (recurrence === undefined) return { ...record, ...totals, completed: time }
  const filesMigrated = counts.filesMigrated + counts.linksMigrated
  const outcome = { filesMigrated, bytesMigrated: counts.bytesMigrated, failedPathCount }
  return { ...record, ...totals, recurrence: ended(recurrence, outcome, now.getTime()) }
}
