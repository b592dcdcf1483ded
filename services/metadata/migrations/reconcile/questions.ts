import type { CatalogSpec } from '../../../../subjects/metadata/kinds.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { Catalog, CatalogChange, TableName } from '../../catalogs/contract/catalog.ts'
import { type CatalogOpening, openCatalog } from '../../catalogs/index.ts'
import { drop } from './drop.ts'
import type { Gate } from './gates.ts'
import { dropLeft } from './hidden.ts'
import type { Failure, Known, ObjectId, Outcome, SeenWriteIds, Written } from './objects.ts'
import { type OnConflict, reconcileDatabase } from './reconcile.ts'
import { reconcileFunctions } from './reconcile-functions.ts'
import { reconcileTable, type Renamed } from './reconcile-table.ts'
import { Sides, type SidesSpec } from './sides.ts'
import { decidedOf } from './write-ids.ts'

/** Work on tables goes on for so long before it tells what it has done: what is told is stored, and nothing of it is done twice. */
const sliceMs = 5_000

/** Events that are asked for at once: some hundred bytes each, but those of partitions. */
const eventsAtOnce = 1_000

/** A table that is to be brought. */
export interface TableWork {
  readonly name: string
  readonly known: Known
  readonly sinceMs: number
  /** What it was called before at the source, where it is at the target by that name. */
  readonly renamedFrom?: Renamed
  /** Only these of its partitions; without them all. */
  readonly partitions?: readonly string[]
  /** Where work on its partitions has ended before, and how many there were. */
  readonly after?: string
  readonly counted?: number
  /** What of them did not arrive. */
  readonly note?: Failure
  /** Why some of them are not added yet. */
  readonly waiting?: string
  /** Write ids of a transactional table that are to be set. */
  readonly writeIds?: SeenWriteIds
  readonly written?: Written
}

/** What a migration has done, and what comes of it, by the kind of the work. Plain data: it crosses to a worker thread and back. */
export interface MetadataWork {
  /** What the source has. */
  databases: { readonly asked: object; readonly answer: { readonly databases: readonly string[] } }
  tables: {
    readonly asked: { readonly database: string; readonly side: 'source' | 'target' }
    /** Undefined for a database that is gone. */
    readonly answer: { readonly tables: readonly { name: string; type: string }[] | undefined }
  }
  'bring-database': {
    readonly asked: { readonly database: string; readonly known: Known }
    readonly answer: { readonly outcomes: readonly Outcome[] }
  }
  'bring-tables': {
    readonly asked: {
      readonly database: string
      readonly tables: readonly TableWork[]
      readonly gates: readonly Gate[]
      readonly maxDrops: number
    }
    /** @param left what there was no time for, in order */
    readonly answer: { readonly outcomes: readonly Outcome[]; readonly left: readonly TableWork[] }
  }
  'bring-functions': {
    readonly asked: { readonly database: string; readonly known: Readonly<Record<string, Known>> }
    readonly answer: { readonly outcomes: readonly Outcome[] }
  }
  drop: {
    readonly asked: { readonly objects: readonly { readonly id: ObjectId; readonly known: Known }[] }
    readonly answer: { readonly outcomes: readonly Outcome[] }
  }
  /** Hidden tables at the target that are in nobody's hands. */
  'drop-left': {
    readonly asked: { readonly database: string; readonly names: readonly string[] }
    readonly answer: object
  }
  /** Up to which write the source has decided all writes to transactional tables, in their order; undefined where it has no such. */
  writes: {
    readonly asked: { readonly tables: readonly TableName[] }
    readonly answer: { readonly decided: readonly number[] | undefined }
  }
  /** Where the source's account of its changes ends; undefined where it keeps none. */
  position: { readonly asked: object; readonly answer: { readonly position: string | undefined } }
  changes: {
    readonly asked: { readonly after: string }
    /** `isGap`: not all that has happened since is known any more. */
    readonly answer:
      | { readonly isGap: true }
      | {
          readonly isGap: false
          readonly changes: readonly CatalogChange[]
          readonly position: string
          readonly behind: number
        }
  }
}

export type WorkKind = keyof MetadataWork
export interface WorkSides extends SidesSpec {
  readonly onConflict: OnConflict
}
export type MetadataQuestion = {
  [K in WorkKind]: { readonly kind: K; readonly sides: WorkSides } & MetadataWork[K]['asked']
}[WorkKind]
export type MetadataAnswer = MetadataWork[WorkKind]['answer']

/** Does a piece of a migration. Throws GantryError NOT_ACCEPTED, and StoreError for what concerns a whole catalog. */
export async function work(question: MetadataQuestion, opening?: CatalogOpening): Promise<MetadataAnswer> {
  const { sides: spec } = question
  using source = await opened(spec.source, opening)
  // Nothing ends the work from within: a thread whose answer nobody awaits is ended as a whole.
  const { signal } = new AbortController()
  switch (question.kind) {
    case 'databases':
      return { databases: await source.catalog.databases(signal) }
    case 'tables': {
      using its = await opened(spec[question.side], opening)
      return { tables: await tablesOf(its.catalog, question.database, signal) }
    }
    case 'position':
      return { position: await source.catalog.feed?.position(signal) }
    case 'writes': {
      const told = await source.catalog.writeIds?.of(question.tables, signal)
      return { decided: told?.map((its) => decidedOf(its).highest) }
    }
    case 'changes':
      return await changesOf(source.catalog, question.after, signal)
    default: {
      using target = await opened(spec.target, opening)
      return await bring(new Sides(source.catalog, target.catalog, spec), question, signal)
    }
  }
}

type Bringing = Extract<
  MetadataQuestion,
  { kind: 'bring-database' | 'bring-tables' | 'bring-functions' | 'drop' | 'drop-left' }
>

async function bring(sides: Sides, question: Bringing, signal: AbortSignal): Promise<MetadataAnswer> {
  const { onConflict } = question.sides
  switch (question.kind) {
    case 'bring-database': {
      const { database, known } = question
      return { outcomes: [await reconcileDatabase(sides, database, known, onConflict, signal)] }
    }
    case 'bring-functions': {
      const { database, known } = question
      const knownOf = (name: string): Known => (Object.hasOwn(known, name) ? known[name]! : {})
      return { outcomes: await reconcileFunctions(sides, database, knownOf, onConflict, signal) }
    }
    case 'drop': {
      const outcomes: Outcome[] = []
      for (const { id, known } of question.objects)
        outcomes.push(await drop(sides, id, known, onConflict, signal))
      return { outcomes }
    }
    case 'drop-left': {
      await dropLeft(sides, question.database, question.names, signal)
      return {}
    }
    case 'bring-tables':
      return bringTables(sides, question, signal)
  }
}

async function bringTables(
  sides: Sides,
  { database, tables, gates, maxDrops, sides: { onConflict } }: Extract<Bringing, { kind: 'bring-tables' }>,
  signal: AbortSignal,
): Promise<MetadataWork['bring-tables']['answer']> {
  const endMs = performance.now() + sliceMs
  const isOver = () => performance.now() > endMs
  const outcomes: Outcome[] = []
  for (const [index, table] of tables.entries()) {
    const { counted = 0 } = table
    const asked = { ...table, database, onConflict, gates, maxDrops, counted, isOver }
    const { outcome, after, note, waiting } = await reconcileTable(sides, asked, signal)
    outcomes.push(outcome)
    // Where nothing is written, it is as it was.
    const settled = sides.dry === undefined && 'settled' in outcome ? outcome.settled : table.known
    const known = 'isHidden' in outcome ? { ...settled, isHidden: true } : settled
    if (after !== undefined) {
      const left = { ...(note && { note }), ...(waiting !== undefined && { waiting }) }
      const rest = { ...table, known, after, counted: outcome.partitions ?? counted, ...left }
      return { outcomes, left: [rest, ...tables.slice(index + 1)] }
    }
    if (isOver()) return { outcomes, left: tables.slice(index + 1) }
  }
  return { outcomes, left: [] }
}

async function tablesOf(
  catalog: Catalog,
  database: string,
  signal: AbortSignal,
): Promise<readonly { name: string; type: string }[] | undefined> {
  try {
    const tables = await catalog.tables(database, signal)
    return tables.map(({ name, type }) => ({ name, type }))
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'gone') return undefined
    throw error
  }
}

async function changesOf(
  { feed, place }: Catalog,
  after: string,
  signal: AbortSignal,
): Promise<MetadataWork['changes']['answer']> {
  if (feed === undefined) throw new StoreError('unsupported', `${place} does not report changes`)
  try {
    return { isGap: false, ...(await feed.changes(after, eventsAtOnce, signal)) }
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'gone') return { isGap: true }
    throw error
  }
}

async function opened(
  spec: CatalogSpec,
  opening: CatalogOpening | undefined,
): Promise<Disposable & { readonly catalog: Catalog }> {
  const catalog = await openCatalog(spec, opening)
  return { catalog, [Symbol.dispose]: () => catalog.close() }
}
