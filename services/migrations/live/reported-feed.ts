import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { call } from '../../../broker/rpc/client.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { monotonicMs } from '../../../broker/common/monotonic.ts'
import { filesystemEvents, filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { filesystemsInternal } from '../../../subjects/filesystems/internal.ts'
import type { Output } from '../../../subjects/kit/contract.ts'
import { ephemeralSubject, subjectToken } from '../../../subjects/kit/names.ts'
import { foldersOf, seenAt } from '../../drivers/notifications/changed-objects.ts'
import {
  type DirtyFolder,
  everythingSince,
  type Renamed,
  renamedBelow,
} from '../../drivers/feeds/dirty-folders.ts'
import { type ChangeFeed, type FeedListener, outageMs } from '../../drivers/feeds/feed.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'

/** Who reports does so at least twice as often: after so long nobody knows whether something has changed. */
const silenceMs = 60_000
/** Reports that are told and not done, at most: further ones are read later. */
const maxUndone = 20_000

type Reported = Output<(typeof filesystemsInternal)['reported-changes']>
type Report = Reported['reports'][number]

export interface ReportedFeedOptions {
  readonly connection: NatsConnection
  readonly fileSystemId: string
  /** Path of the folder whose changes count, as latin1. */
  readonly root: string
}

interface Undone {
  /** Just before it. */
  readonly before: string
  isDone: boolean
}

/** Is told of changes by whoever reports them to the platform, which keeps the reports for a while. */
export class ReportedFeed implements ChangeFeed {
  readonly detection = 'reported'
  readonly reason: string
  readonly #options: ReportedFeedOptions
  readonly #undone: Undone[] = []
  #listener: FeedListener | undefined
  #stream = ''
  /** Up to which reports are told. */
  #at = ''
  #kept: string | undefined
  /** When something was reported last, or that nothing had changed (`monotonicMs`). */
  #heardMs = monotonicMs()
  #isSpokenTo: (() => void) | undefined
  #awaySinceMs: number | undefined
  #looking: Promise<void> | undefined
  #isLookDue = false
  #events: { unsubscribe(): void } | undefined
  #tasks: Task[] = []

  constructor(options: ReportedFeedOptions) {
    this.#options = options
    this.reason = `reported by other programs (${filesystems['report-changes'].subject})`
  }

  get toldUntilMs(): number {
    return this.#heardMs
  }

  async open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    const { connection, fileSystemId } = this.#options
    const { positions } = listener
    this.#stream = `reported ${fileSystemId} ${positions.reader}`
    const known = keptIn(await positions.recall(this.#stream))
    const reported = await this.#ask(known?.at)
    const missedNothing = known !== undefined && reported.isWhole
    signal.throwIfAborted()
    this.#listener = listener
    this.#at = missedNothing ? known.at : reported.at
    if (missedNothing) this.#heardMs = seenAt(known.keptMs)
    const { resource, event } = filesystemEvents['changes-reported']
    const subject = ephemeralSubject(resource, event, subjectToken(fileSystemId))
    this.#events = connection.subscribe(subject, { callback: () => this.#look() })
    // What the event of which never came, as the broker was away, is found by this.
    this.#tasks = [
      every('migrations.reported-changes', () => this.#look()),
      every('migrations.feed-positions', () => this.#keep()),
    ]
    try {
      await this.#keep()
    } catch (error) {
      await this.close()
      throw error
    }
    this.#look()
    await this.#looking
    return missedNothing
  }

  async close(): Promise<void> {
    this.#listenNoMore()
    await this.#looking
    await this.#keep().catch(() => undefined)
    this.#listener = undefined
  }

  #listenNoMore(): void {
    for (const task of this.#tasks) task.stop()
    this.#events?.unsubscribe()
  }

  #ask(after: string | undefined): Promise<Reported> {
    const { connection, fileSystemId } = this.#options
    return call(connection, filesystemsInternal['reported-changes'], {
      fileSystemId,
      ...(after !== undefined && { after }),
    })
  }

  #look(): void {
    this.#isLookDue = true
    this.#looking ??= this.#lookOn().finally(() => {
      this.#looking = undefined
      if (this.#mayLook) this.#look()
    })
  }

  get #mayLook(): boolean {
    return this.#isLookDue && this.#listener !== undefined && this.#undone.length < maxUndone
  }

  async #lookOn(): Promise<void> {
    while (this.#mayLook) {
      this.#isLookDue = false
      try {
        await this.#read()
        this.#awaySinceMs = undefined
      } catch (error) {
        this.#failed(error)
      }
    }
  }

  async #read(): Promise<void> {
    const askedMs = monotonicMs()
    const { reports, at, isWhole, hasMore } = await this.#ask(this.#at)
    // It was closed meanwhile: a later reader begins where this one has kept.
    if (this.#listener === undefined) return
    if (!isWhole) this.#tell([everythingSince(this.#heardMs)], this.#at)
    for (const report of reports) {
      const { root } = this.#options
      this.#tell(foldersOfReport(report, root), this.#at, renamedIn(report, root))
      this.#at = report.at
      this.#heardMs = Math.max(this.#heardMs, seenAt(report.since ?? report.reportedAt))
    }
    this.#at = at
    this.#isLookDue ||= hasMore
    this.#sayWhetherSilent(askedMs)
  }

  #sayWhetherSilent(nowMs: number): void {
    const isSilent = nowMs - this.#heardMs > silenceMs
    if (!isSilent) {
      this.#isSpokenTo?.()
      this.#isSpokenTo = undefined
    } else this.#isSpokenTo ??= this.#listener?.behind?.(this.#heardMs)
  }

  /** @param before position just before what is told */
  #tell(folders: readonly DirtyFolder[], before: string, renamed: readonly Renamed[] = []): void {
    if (folders.length === 0) return
    const undone = { before, isDone: false }
    this.#undone.push(undone)
    const done = () => {
      undone.isDone = true
      if (this.#undone[0] !== undone) return
      const wasFull = this.#undone.length >= maxUndone
      const first = this.#undone.findIndex(({ isDone }) => !isDone)
      this.#undone.splice(0, first === -1 ? this.#undone.length : first)
      if (wasFull) this.#look()
    }
    this.#listener?.changed(folders, done, renamed)
  }

  /** From where a later reader has to be told again. */
  async #keep(): Promise<void> {
    const positions = this.#listener?.positions
    const at = this.#undone[0]?.before ?? this.#at
    if (positions?.isComplete !== true || at === this.#kept) return
    const keptMs = Date.now() - Math.round(monotonicMs() - this.#heardMs)
    await positions.keep(this.#stream, JSON.stringify({ at, keptMs }))
    this.#kept = at
  }

  #failed(error: unknown): void {
    this.#awaySinceMs ??= monotonicMs()
    if (monotonicMs() - this.#awaySinceMs < outageMs) return
    const listener = this.#listener
    this.#listener = undefined
    this.#listenNoMore()
    listener?.ended(error as Error)
  }
}

/** Where to look for what was reported, below a folder. */
function foldersOfReport({ changes, since, reportedAt }: Report, root: string): DirtyFolder[] {
  const sinceMs = seenAt(since ?? reportedAt)
  const change = (path: string, isTree: boolean) => ({ key: keyOf(path), isTree, sinceMs })
  const all = changes.flatMap(({ path, from, tree = false }) =>
    from === undefined ? [change(path, tree)] : [change(path, true), change(from, true)],
  )
  // Nobody can put something else in its place.
  return all.some(({ key, isTree }) => key === '' && isTree)
    ? [everythingSince(sinceMs)]
    : foldersOf(root, all)
}

const keyOf = (path: string): string => pathFromText(path).toString('latin1')

const renamedIn = ({ changes }: Report, root: string): Renamed[] =>
  renamedBelow(
    root,
    changes.flatMap(({ path, from }) => (from === undefined ? [] : [{ from: keyOf(from), to: keyOf(path) }])),
  )

/** As `#keep` made it. */
const keptIn = (text: string | undefined) =>
  text === undefined ? undefined : (JSON.parse(text) as { readonly at: string; readonly keptMs: number })
