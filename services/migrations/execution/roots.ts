import { setTimeout as delay } from 'node:timers/promises'
import { GantryError, isGantryError } from '../../../subjects/kit/errors.ts'
import { maxTextLength } from '../../../subjects/kit/schemas.ts'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { openDriver } from '../../drivers/index.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import {
  type Driver,
  type Place,
  type PlaceNow,
  storeError,
  type StoreIdentity,
  type StorePath,
  type StoreSide,
} from '../../drivers/contract/driver.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import { isWithin, joinPath } from '../../engine/items/paths.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import { targetPath } from '../../engine/run/mappings.ts'
import { linksOf } from '../../engine/run/metadata.ts'
import { sourcePlace } from '../../engine/run/places.ts'
import { openSpec } from '../../engine/run/run.ts'
import { isLeftOut } from '../../engine/run/left-out.ts'
// So that it is known how rules are compiled.
import '../../engine/run/rules.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { Poller } from '../../scheduling/poller.ts'
import {
  differenceOf,
  inWords,
  isSame,
  newMounts,
  type SourceIs,
  type SourceIdentity,
} from '../lifecycle/source-identity.ts'

/**
 * The process has four threads for such questions, and a mount that hangs keeps one. Those of others are not for it, and
 * targets that hang leave sources theirs.
 */
const maxAtOnce = { source: 2, target: 1 } as const
/** A folder of a host answers in so long, or there is something wrong with it. */
const answerMs = 10_000

/** How often a store of another host is asked which it is; the threads ask themselves before they remove anything. */
const storeLookMs = 5_000

/** The folders that are asked about at the moment, and when there is one less. */
const asked = { source: new Set<string>(), target: new Set<string>() } as const
let answeredOne = Promise.withResolvers<void>()

/** What is known of the roots of a migration while it is worked on, over its breaks. */
export interface KnownRoots {
  /** Some work may have been done in another folder. */
  isRootReplaced: boolean
}

/** What a record knows of its source and its target. */
export type Identities = Pick<MigrationRecord, 'sourceIdentity' | 'storeIdentity' | 'targetIdentity'>

/** Nobody can tell at the moment what a folder is. */
class NotSeen extends GantryError {}

/** The source of a migration has been replaced, or is gone: then nobody can accept it. */
export class SourceChanged extends GantryError {
  readonly #isGone: boolean

  constructor(difference: string, { isGone = false } = {}) {
    super('STORE_UNREACHABLE', shortened(`source: ${difference}`, maxTextLength))
    this.#isGone = isGone
  }

  /** What the record keeps of it. */
  get told(): Omit<NonNullable<MigrationRecord['sourceChanged']>, 'since'> {
    return { difference: this.message, ...(this.#isGone ? { isGone: true } : {}) }
  }
}

/**
 * Looks whether source and target are what they were: where a volume was is the folder below it once it is unmounted, be it
 * the root or somewhere below, and who moves a folder may put another in its place. What is found or written there would be
 * taken for what was meant. The threads ask the same themselves before and after each item, and before they remove anything
 * (`Place.require`).
 */
export class Roots implements Disposable {
  readonly #spec: MoveSpec
  readonly #known: KnownRoots
  readonly #source: Place | undefined
  readonly #target: Place | undefined
  /** Where filesystems may be; undefined for anywhere. */
  readonly #bounds: StoreBounds | undefined
  /** The source, where it is no folder of this host but can be told from another one. */
  readonly #store: IdentifiedStore | undefined
  #identities: Identities
  #mark: string | undefined
  #targetMark: string | undefined
  /** Whether the work has begun, by what was found first. */
  #hasBegun = false
  /** What the last whole look went by. */
  #seen = ''
  #looks: readonly Poller[] = []
  #storeSeenMs = 0

  private constructor(
    spec: MoveSpec,
    { sourceIdentity, storeIdentity, targetIdentity }: Identities,
    known: KnownRoots,
    folders: {
      readonly source: Place | undefined
      readonly store: IdentifiedStore | undefined
      readonly target: Place | undefined
    },
    bounds: StoreBounds | undefined,
  ) {
    this.#spec = spec
    this.#identities = {
      ...(sourceIdentity === undefined ? {} : { sourceIdentity }),
      ...(storeIdentity === undefined ? {} : { storeIdentity }),
      ...(targetIdentity === undefined ? {} : { targetIdentity }),
    }
    this.#known = known
    this.#source = folders.source
    this.#store = folders.store
    this.#target = folders.target
    this.#bounds = bounds
  }

  /**
   * Begins to look.
   * @param identities what source and target were; what is missing is taken as it is now
   * @param onChange called once they are others
   * @throws SourceChanged; GantryError STORE_UNREACHABLE when the target has been replaced, or either cannot be looked at
   */
  static async watch(
    spec: MoveSpec,
    identities: Identities,
    known: KnownRoots,
    onChange: (reason: unknown) => void,
    bounds?: StoreBounds,
  ): Promise<Roots> {
    const [source, target] = await Promise.all([placeOfSource(spec), placeOfTarget(spec)])
    const store = await identifiedStore(spec, bounds)
    const roots = new Roots(spec, identities, known, { source, store, target }, bounds)
    try {
      await roots.check()
    } catch (error) {
      roots[Symbol.dispose]()
      throw error
    }
    roots.#hasBegun = true
    // A mount that hangs is asked once, and a target that does keeps nobody from looking at the source. Until a look, files
    // may be written to another folder.
    roots.#looks = [() => roots.#lookAtSource(), () => roots.#requireTarget()].map(
      (look) => new Poller('migrations.roots', () => unlessNotSeen(look), onChange),
    )
    for (const look of roots.#looks) look.start()
    return roots
  }

  /** What source and target are, for the record. */
  get identities(): Identities {
    return this.#identities
  }

  /** What the engine needs of them. */
  get spec(): Pick<MoveSpec, 'sourceMark' | 'targetMark' | 'storeIdentity'> {
    const { storeIdentity } = this.#identities
    return {
      ...(this.#mark === undefined ? {} : { sourceMark: this.#mark }),
      ...(this.#targetMark === undefined ? {} : { targetMark: this.#targetMark }),
      ...(this.#store === undefined || storeIdentity === undefined ? {} : { storeIdentity }),
    }
  }

  /** @throws SourceChanged; GantryError STORE_UNREACHABLE */
  async check(): Promise<void> {
    // Whichever is found first is thrown; a target that hangs hides nothing.
    await Promise.all([this.#requireSource(), this.#requireStore(), this.#requireTarget()])
  }

  [Symbol.dispose](): void {
    const stopped = Promise.all(this.#looks.map((look) => look.stop()))
    void stopped.then(() => this.#store?.close())
  }

  async #lookAtSource(): Promise<void> {
    const source = this.#source
    if (source !== undefined) {
      const sign = await answered('source', source, () => source.sign())
      if (sign !== this.#seen) await this.#requireSource()
    }
    if (performance.now() >= this.#storeSeenMs + storeLookMs) await this.#requireStore()
  }

  /** One that cannot be looked at is not there for those who have something to do there either, and they say so. */
  async #requireStore(): Promise<void> {
    const store = this.#store
    if (store === undefined) return
    this.#storeSeenMs = performance.now()
    const was = this.#identities.storeIdentity
    const name = store.capabilities.storeName ?? 'its store'
    const found = await identify(store, was)
    if (found === 'gone' && was !== undefined)
      throw this.#torn(new SourceChanged(`${name} does not exist`, { isGone: true }))
    if (found === 'gone' || found === undefined) return
    const { identity, isOther } = found
    if (isOther && was !== undefined)
      throw this.#torn(
        new SourceChanged(
          `${name} was replaced: it was created or its properties were changed at ${was.changed}, now at ${identity.changed}, and none of its previous blobs exists`,
        ),
      )
    this.#identities = { ...this.#identities, storeIdentity: identity }
    if (this.#hasBegun && was?.version !== identity.version)
      throw new GantryError(
        'STORE_UNREACHABLE',
        `source: the properties of ${name} were changed; the migration continues with the new ones`,
      )
    if (this.#hasBegun || was === undefined) return
    // Of those that were noted, fewer are there from day to day.
    const fresh = await identify(store, undefined)
    if (fresh !== 'gone' && fresh?.identity.version === was.version)
      this.#identities = { ...this.#identities, storeIdentity: fresh.identity }
  }

  async #requireSource(): Promise<void> {
    const source = this.#source
    if (source === undefined) return
    const was = this.#wasAtSource()
    const paths = was?.mounts.map(({ path }) => path)
    const { sign, now } = await answered('source', source, async () => ({
      // Before the look: what changes during it is looked at again.
      sign: await source.sign(),
      now: await source.look(paths),
    }))
    const difference = was === undefined ? undefined : differenceOf(source.name, was, now?.identity)
    if (difference !== undefined)
      throw this.#torn(new SourceChanged(difference, { isGone: now === undefined }))
    // One that was never there is missed by whoever lists it.
    if (now === undefined) return
    if (was !== undefined) await this.#requireEmptyBelow(was, now)
    const isOther = this.#hasBegun && this.#mark !== now.mark
    this.#identities = { ...this.#identities, sourceIdentity: now.identity }
    this.#mark = now.mark
    this.#seen = sign
    // The threads go by what was found first, and the record has that.
    if (isOther)
      throw new GantryError(
        'STORE_UNREACHABLE',
        'source: its folder was created or mounted again; it is compared again',
      )
  }

  /** What it was, without mounts that a rule leaves out by now. */
  #wasAtSource(): SourceIdentity | undefined {
    const was = this.#identities.sourceIdentity
    const { rules: packed, root } = this.#spec
    const rules = packed === undefined || linksOf(this.#spec) === 'follow' ? undefined : { packed, root }
    return was && { ...was, mounts: was.mounts.filter(({ path }) => !isLeftOut(rules, pathFromText(path))) }
  }

  /** A mount that is new hides what was below it. Where nothing of that is at the target, nothing can be lost. */
  async #requireEmptyBelow(was: SourceIdentity, { identity, automatic }: PlaceNow): Promise<void> {
    for (const { path, is } of newMounts(was, identity)) {
      if (automatic.has(path) || !(await this.#hasCopies(pathFromText(path)))) continue
      throw this.#torn(
        new SourceChanged(
          `${inWords(is)} was mounted at ${path} and hides files that were copied from there`,
        ),
      )
    }
  }

  /** @param path of a mount, below the folder whose mounts count */
  async #hasCopies(path: StorePath): Promise<boolean> {
    const spec = openSpec(this.#spec)
    const origin = linksOf(spec) === 'follow' ? path : joinPath(spec.root, path)
    if (!isWithin(spec.root, origin)) return false
    const target = await openDriver(spec.target, 'target', this.#bounds)
    try {
      const there = targetPath({ spec }, origin)
      for await (const _ of target.list(there, AbortSignal.timeout(answerMs), { limit: 1 })) return true
      return false
    } catch (error) {
      if (storeError(error).failure === 'gone') return false
      throw error
    } finally {
      await target.close()
    }
  }

  async #requireTarget(): Promise<void> {
    const target = this.#target
    if (target === undefined) return
    const was = this.#identities.targetIdentity
    const now = await answered('target', target, () => target.look())
    if (was === undefined && now === undefined) return
    if (now !== undefined && (was === undefined || isSame(was, now.identity.root))) {
      const isMountedAnew = this.#hasBegun && this.#targetMark !== undefined && this.#targetMark !== now.mark
      this.#identities = { ...this.#identities, targetIdentity: was ?? now.identity.root }
      this.#targetMark = now.mark
      if (!isMountedAnew) return
      throw new GantryError(
        'STORE_UNREACHABLE',
        'target: its folder was mounted again; the migration continues with it',
      )
    }
    const what = now === undefined ? 'does not exist' : 'is not the folder that the migration started with'
    throw this.#torn(
      new GantryError(
        'STORE_UNREACHABLE',
        `target: its folder ${what}; mount or restore the original folder, or stop and start the migration to accept the new one`,
      ),
    )
  }

  #torn(error: GantryError): GantryError {
    this.#known.isRootReplaced = true
    return error
  }
}

/** Whether some of a scan was done elsewhere, be it that the source was not there: nobody knows which. A live one compares. */
export const isRootReplaced = (
  { kind, seeded }: Pick<MigrationRecord, 'kind' | 'seeded'>,
  known: Readonly<KnownRoots>,
): boolean => known.isRootReplaced && seeded && kind !== 'live'

/**
 * What the source of a migration is now, for whoever accepts it, and whether it was replaced since.
 * @param was what is known of it @throws GantryError STORE_UNREACHABLE
 */
export async function sourceIdentityNow(
  spec: Pick<MoveSpec, 'source' | 'root' | 'links' | 'rules'>,
  was: SourceIs,
  bounds?: StoreBounds,
): Promise<{ readonly is: SourceIs; readonly isOther: boolean }> {
  const source = await placeOfSource(spec)
  if (source !== undefined) {
    // Some are there only while somebody looks.
    const paths = was.sourceIdentity?.mounts.map(({ path }) => path)
    const now = await answered('source', source, () => source.look(paths))
    if (now === undefined)
      throw new GantryError(
        'STORE_UNREACHABLE',
        'source: its folder does not exist; create or mount it before you accept it',
      )
    const { sourceIdentity: before } = was
    const isOther = before !== undefined && differenceOf(source.name, before, now.identity) !== undefined
    return { is: { sourceIdentity: now.identity }, isOther }
  }
  const store = await identifiedStore(spec, bounds)
  if (store === undefined) return { is: {}, isOther: false }
  try {
    const found = await identify(store, was.storeIdentity)
    if (found !== undefined && found !== 'gone')
      return { is: { storeIdentity: found.identity }, isOther: found.isOther }
  } finally {
    await store.close()
  }
  throw new GantryError(
    'STORE_UNREACHABLE',
    `source: ${store.capabilities.storeName} cannot be reached; create it or make it available before you accept it`,
  )
}

/** A store that can be told from another one of its name. */
type IdentifiedStore = Driver & Required<Pick<Driver, 'identify'>>

const isIdentified = (driver: Driver): driver is IdentifiedStore => driver.identify !== undefined

async function identifiedStore(
  { source }: Pick<MoveSpec, 'source'>,
  bounds: StoreBounds | undefined,
): Promise<IdentifiedStore | undefined> {
  const driver = await openDriver(source, 'source', bounds)
  if (isIdentified(driver)) return driver
  await driver.close()
  return undefined
}

/** Which store it is; `gone` when there is none, undefined when it does not tell. */
async function identify(store: IdentifiedStore, was: StoreIdentity | undefined) {
  try {
    return await store.identify(was, AbortSignal.timeout(answerMs))
  } catch (error) {
    return storeError(error).failure === 'gone' ? 'gone' : undefined
  }
}

/** A look; whoever has something to do where it fails says what is wrong. */
async function unlessNotSeen(look: () => Promise<void>): Promise<void> {
  try {
    await look()
  } catch (error) {
    if (!(error instanceof NotSeen)) throw error
  }
}

/** Where the source of a migration is, if something else can take its place. */
export const placeOfSource = (
  spec: Pick<MoveSpec, 'source' | 'root' | 'links' | 'rules'>,
): Promise<Place | undefined> => asking(spec.source, (driver) => sourcePlace(driver, spec))

/** The same of its target. */
export const placeOfTarget = ({ target }: Pick<MoveSpec, 'target'>): Promise<Place | undefined> =>
  asking(target, ({ places }) => places?.asTarget())

/** What a driver says of itself; a place needs nothing of it any longer. */
async function asking<T>(spec: FilesystemSpec, ask: (driver: Driver) => T): Promise<T> {
  const driver = await openDriver(spec)
  try {
    return ask(driver)
  } finally {
    await driver.close()
  }
}

/** What a look at a folder comes to. @throws NotSeen when it fails, or takes too long */
async function answered<T>(side: StoreSide, { name: key }: Place, look: () => Promise<T>): Promise<T> {
  const timeout = new AbortController()
  const late = delay(answerMs, undefined, { signal: timeout.signal }).then(() => {
    throw new NotSeen('STORE_UNREACHABLE', `${side}: its folder does not answer`)
  })
  // Nobody may be listening when it is called off.
  late.catch(() => undefined)
  try {
    const its = asked[side]
    while (its.has(key) || its.size >= maxAtOnce[side]) await Promise.race([answeredOne.promise, late])
    its.add(key)
    const looked = look().finally(() => {
      its.delete(key)
      answeredOne.resolve()
      answeredOne = Promise.withResolvers()
    })
    return await Promise.race([looked, late])
  } catch (error) {
    if (isGantryError(error)) throw error
    const said = error instanceof Error ? error.message : String(error)
    throw new NotSeen('STORE_UNREACHABLE', `${side}: its folder cannot be read: ${said}`, {
      cause: error,
    })
  } finally {
    timeout.abort()
  }
}
