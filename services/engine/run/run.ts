import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import { trashFolder } from '../../../subjects/migrations/model/plan-terms.ts'
import {
  type Confinement,
  type DirectCopy,
  type Driver,
  type LeftUpload,
  StoreError,
  type StoreCopy,
  storeError,
  type StoreIdentity,
  type StorePath,
  targetError,
  type Upload,
} from '../../drivers/contract/driver.ts'
import { type Item, localBounds, networkBounds, type ItemBounds } from '../items/items.ts'
import { type EngineMapping, type SentMapping, targetPath } from './mappings.ts'
import { carried, linksOf, type MetadataSettings, readOptions } from './metadata.ts'
import type { Meter, MeterView } from './meter.ts'
import type { Bucket } from './bucket.ts'
import type { Pace } from './pace.ts'
import { joinPath } from '../items/paths.ts'
import type { RemovalBudget } from './removal-budget.ts'
import type { PackedRules, Rules } from './rules.ts'
import { sourcePlace } from './places.ts'
import type { Stop } from './stop.ts'

/** A migration that was started from the beginning once more has leftovers of before that no item knows of. */
export const firstGeneration = 1

/** What a live migration needs to know of itself. Plain data. */
export interface Live {
  /** When it was started first, in milliseconds since 1970: what is at the target since before that is not its own. */
  readonly startedMs: number
  /** What may be removed at the target; undefined for no limit. */
  readonly budget?: RemovalBudget | undefined
  /** Folder in the target's trash that takes what is removed; without one it is gone. */
  readonly trash?: string | undefined
}

/** What is to be moved, from where to where. Plain data. */
export interface MoveSpec {
  /** The migration's internal id; marks temporary files. */
  readonly id: string
  /** Grows with every start from the beginning after one that was cut short, and may have left something. */
  readonly generation: number
  /** Path of the migration in the source; bytes without a leading slash, empty for the whole store. */
  readonly root: Uint8Array
  readonly source: FilesystemSpec
  readonly target: FilesystemSpec
  readonly policy: ActionPolicy
  /** What is left out, and what it is confined to; without any, nothing is asked. */
  readonly rules?: PackedRules
  /** What goes elsewhere at the target; without any, all paths are the same there. */
  readonly mappings?: readonly SentMapping[]
  /** Limits of this process that hold for it, all of them. */
  readonly limits?: readonly Bucket[]
  /** Where is noted what was brought so far of the item that is worked on; without it nothing is. */
  readonly meter?: Meter
  /** Default: as the interface says. */
  readonly metadata?: MetadataSettings['metadata']
  readonly links?: MetadataSettings['links']
  /** Of a live migration. */
  readonly live?: Live
  /** What the source is, where something else can take its place (`PlaceNow.mark`): nothing is done when it has. */
  readonly sourceMark?: string
  /** The same of the target: what is written into another one does not count. */
  readonly targetMark?: string
  /** Which store the source is, where that is no folder of this host: nothing is removed when it is another one. */
  readonly storeIdentity?: StoreIdentity
}

/** A spec whose paths are buffers again. */
export interface OpenSpec extends MoveSpec {
  readonly root: StorePath
  readonly mappings?: readonly EngineMapping[]
}

export function openSpec(spec: MoveSpec): OpenSpec {
  const { mappings, ...rest } = spec
  const root = Buffer.from(spec.root)
  if (mappings === undefined) return { ...rest, root }
  return {
    ...rest,
    root,
    mappings: mappings.map(({ from, to }) => ({ from: Buffer.from(from), to: Buffer.from(to) })),
  }
}

/** A spec with its stores opened, for one job in a thread. */
export interface Run {
  readonly spec: OpenSpec
  readonly source: Driver
  readonly target: Driver
  /** Those of the spec, compiled. */
  readonly rules?: Rules | undefined
  readonly stop: Stop
  readonly pace: Pace
  readonly meter: MeterView
  /**
   * Removes an upload that nobody goes on with: when the target is back, if need be. Never rejects.
   */
  readonly abandon: (upload: Upload) => Promise<void>
  /** Threads of this process that live. Given when leftovers of dead writers are to be looked for. */
  readonly liveThreads: readonly number[] | undefined
}

/**
 * To be called between a look that found something missing at the source and what is done about it: it may be the source that
 * is missing. Throws a StoreError then, with which the whole job ends.
 */
export async function requireSource({
  spec,
  source,
  stop,
}: Pick<Run, 'spec' | 'source' | 'stop'>): Promise<void> {
  try {
    if (spec.sourceMark !== undefined) sourcePlace(source, spec)?.require(spec.sourceMark)
    if (spec.storeIdentity === undefined) return
    const found = await source.identify?.(spec.storeIdentity, stop.signal)
    if (found?.isOther === true)
      throw new StoreError('unreachable', 'it was made anew, or is another one', { side: 'source' })
  } catch (error) {
    stop.check()
    stop.abort(storeError(error))
    throw error
  }
}

/**
 * To be called before something that the source does not have any more is taken for gone: a store that is not there itself has
 * nothing. Throws a StoreError then, with which the whole job ends. A folder of a host is known by its mark.
 */
export async function requireStore({ source, stop }: Pick<Run, 'source' | 'stop'>): Promise<void> {
  if (source.places !== undefined) return
  try {
    const root = await source.stat(Buffer.alloc(0), stop.signal).catch((error: unknown) => {
      if (storeError(error).failure !== 'gone') throw error
    })
    if (root === undefined) throw new StoreError('unreachable', 'the store is not there', { side: 'source' })
  } catch (error) {
    stop.check()
    stop.abort(storeError(error))
    throw error
  }
}

/** Path in the source of a path of an item; `targetPath` says where that is at the target. */
export const storePath = (run: Run, path: StorePath): StorePath => joinPath(run.spec.root, path)

/** Operations that the pair of stores wants under way at once in one thread. */
export const concurrencyOf = ({ source, target }: Pick<Run, 'source' | 'target'>): number =>
  Math.max(source.capabilities.concurrency, target.capabilities.concurrency)

/** How files and folders of the source are read in a job: what it still waits for ends with it. */
export const readOptionsOf = ({ spec, stop }: Pick<Run, 'spec' | 'stop'>) => ({
  ...readOptions(spec),
  signal: stop.signal,
})

/** Where no link is followed at the source: below the migration's folder, or nowhere where links are followed by choice. */
const sourceConfinement = (spec: OpenSpec): Confinement => ({
  below: linksOf(spec) === 'follow' ? [] : [spec.root],
  links: 'gone',
})

/** Folders of the target that something goes to. */
export const targetFolders = ({ root, mappings }: Pick<OpenSpec, 'root' | 'mappings'>): StorePath[] =>
  mappings === undefined ? [root] : mappings.map(({ to }) => to)

/** Where no link is followed at the target: below each folder that something goes to. */
const targetConfinement = (spec: OpenSpec): Confinement => ({
  below: [...targetFolders(spec), Buffer.from(trashFolder)],
  links: 'refused',
})

/** A source for one job, as its migration's choice for links makes it. */
export const asSource = (source: Driver, spec: OpenSpec): Driver =>
  source.confinedTo?.(sourceConfinement(spec)) ?? source

/** A target for one job. */
export const asTarget = (target: Driver, spec: OpenSpec): Driver =>
  target.confinedTo?.(targetConfinement(spec)) ?? target

/** The shorter way from the source to the target, where there is one. */
export function directCopy({ source, target, spec, stop }: Run): DirectCopy | undefined {
  if (source.direct === undefined) return undefined
  return target.copyFrom?.(source, {
    tag: spec.id,
    ...readOptions(spec),
    carried: (attributes) => carried(spec, attributes),
    checkStop: () => stop.check(),
  })
}

/** Copies at the service that both stores are of, where there is one. */
export const storeCopy = ({ source, target }: Run): StoreCopy | undefined =>
  source.direct === undefined ? undefined : target.copyWithin?.(source)

/** An answer of such a copy; errors that do not say that they are the source's are the target's. */
export async function ofCopy<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw error instanceof StoreError && error.side === 'source' ? error : targetError(error)
  }
}

/** How much is in one item at most. */
export const boundsOf = (run: Run): ItemBounds =>
  directCopy(run) === undefined ? networkBounds : localBounds

/** What is done with files of an item that are at the target already. */
export const policyOf = ({ spec }: Run, item: Pick<Item, 'policy'>): ActionPolicy =>
  item.policy ?? spec.policy

/**
 * A microsecond, as exact as times are kept, and what a double near today's milliseconds is off by. Stores with coarser
 * times say so (`StoreClock.grainMs`).
 */
export const exactMs = 0.0015

/** Milliseconds that times of a file may differ by and still be the same, as the coarser store keeps them. */
export const grainMsOf = ({ source, target }: Run): number =>
  Math.max(exactMs, source.capabilities.clock.grainMs ?? 0, target.capabilities.clock.grainMs ?? 0)

/** The target's answer; its errors say that they are the target's. */
export async function atTarget<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw targetError(error)
  }
}

/**
 * Removes what killed writers of this migration left in a folder of the target. It is looked for where it can be: in the
 * folders of an item that comes again after its worker died, and in those of a migration that starts from the beginning.
 * @param folder in the source
 * @param isOver whether nobody goes on with the parts of a large file; default: only when all begins anew
 */
export async function sweep(
  run: Run,
  folder: StorePath,
  isOver: (upload: LeftUpload) => boolean = ({ generation }) =>
    run.spec.generation > firstGeneration && generation !== run.spec.generation,
): Promise<void> {
  const { liveThreads, spec, target } = run
  if (liveThreads === undefined || target.leftovers === undefined) return
  try {
    await target.leftovers.sweep(targetPath(run, folder), spec.id, liveThreads, isOver)
  } catch (error) {
    throw targetError(error)
  }
}
