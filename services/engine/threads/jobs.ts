import type { ChildBatch } from '../items/children.ts'
import type { ItemResult } from '../run/counts.ts'
import type { LargeCopy, PartsOf } from '../copy/large-copy.ts'
import type { MoveSpec } from '../run/run.ts'
import type { CleaningStep } from '../walk/clean.ts'
import type { Comparison } from '../walk/compare.ts'
import type { Findings } from '../walk/findings.ts'
import type { Match } from '../walk/match.ts'
import type { PlanBy } from '../walk/plan-by.ts'
import type { Upload } from '../../drivers/contract/driver.ts'
import type { Renamed, RenamedThere } from '../../drivers/feeds/dirty-folders.ts'
import type { SentError } from '../../drivers/contract/sent-error.ts'

/** What a thread is told of an item. */
export interface ItemJob {
  readonly spec: MoveSpec
  readonly item: Uint8Array
  /** Threads of this process that live, when leftovers of dead writers are to be looked for. */
  readonly liveThreads: readonly number[] | undefined
}

/** Folders to walk through at both sides, and what for. */
interface WalkJob {
  readonly spec: MoveSpec
  readonly folders: readonly string[]
}

/** What a thread can be asked for. Plain data. */
export type Job =
  | ({ readonly kind: 'scan' } & ItemJob)
  | ({ readonly kind: 'reconcile' } & ItemJob)
  | ({ readonly kind: 'transfer' } & ItemJob)
  | ({ readonly kind: 'folders' } & ItemJob)
  | ({ readonly kind: 'sweep' } & ItemJob)
  | { readonly kind: 'rename'; readonly spec: MoveSpec; readonly renamed: readonly Renamed[] }
  /** `takesOver`: this process had begun the file, and nobody here goes on with that but this job. */
  | ({ readonly kind: 'begin'; readonly mayShare: boolean; readonly takesOver: boolean } & ItemJob)
  | { readonly kind: 'part'; readonly spec: MoveSpec; readonly copy: PartsOf; readonly index: number }
  | { readonly kind: 'written'; readonly spec: MoveSpec; readonly copy: PartsOf }
  | { readonly kind: 'commit'; readonly spec: MoveSpec; readonly copy: LargeCopy }
  | { readonly kind: 'settle'; readonly spec: MoveSpec }
  | { readonly kind: 'abandon'; readonly spec: MoveSpec; readonly upload: Upload }
  | ({ readonly kind: 'compare'; readonly comparison: Comparison } & WalkJob)
  | ({ readonly kind: 'plan'; readonly by: PlanBy } & WalkJob)
  | ({ readonly kind: 'match'; readonly match: Match } & WalkJob)
  | ({ readonly kind: 'clean'; readonly step: CleaningStep } & WalkJob)

/** What it answers. */
export type Reply =
  | { readonly kind: 'result'; readonly result: ItemResult }
  | { readonly kind: 'begun'; readonly copy: LargeCopy }
  /** Of an upload: its parts that are there; undefined when it is over. */
  | { readonly kind: 'written'; readonly parts: readonly number[] | undefined }
  /** Those that are done. */
  | { readonly kind: 'renamed'; readonly renamed: readonly RenamedThere[] }
  | { readonly kind: 'done' }

/** What a job hands over while it goes on: items that a scan found, or what a walk did. */
export type Batch =
  | { readonly type: 'children'; readonly children: ChildBatch }
  | { readonly type: 'findings'; readonly findings: Findings }

/** To a thread. `flag` is one number in shared memory: set to 1, it ends the job soon. */
export type ToThread =
  | { readonly type: 'job'; readonly id: number; readonly job: Job; readonly flag: Int32Array }
  | { readonly type: 'credit'; readonly id: number }
  | { readonly type: 'abort'; readonly id: number }

/** From a thread. */
export type FromThread =
  | { readonly type: 'batch'; readonly id: number; readonly batch: Batch }
  | { readonly type: 'reply'; readonly id: number; readonly reply: Reply }
  | { readonly type: 'error'; readonly id: number; readonly error: SentError }
