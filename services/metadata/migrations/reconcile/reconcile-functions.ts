import type { CatalogFunction } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { unlessGone } from '../../catalogs/unless-gone.ts'
import type { Functions } from '../../catalogs/contract/catalog.ts'
import { failureOf, type Known, type Outcome } from './objects.ts'
import { conflictMessage, type OnConflict, outcomeOf, type Writing } from './reconcile.ts'
import type { Sides } from './sides.ts'

/**
 * Functions of a database by name; of one that alone cannot be read, why. Undefined where the catalog holds none.
 * Throws StoreError.
 */
export async function functionsByName(
  functions: Functions | undefined,
  database: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, CatalogFunction | StoreError> | undefined> {
  if (functions === undefined) return undefined
  const found = new Map<string, CatalogFunction | StoreError>()
  const onUnreadable = (name: string, failure: StoreError) => void found.set(name, failure)
  for (const one of await functions.list(database, signal, onUnreadable)) found.set(one.name, one)
  return found
}

/** What is known of a function by `functionsByName`. Throws StoreError for one that cannot be read. */
export function readable(found: CatalogFunction | StoreError | undefined): CatalogFunction | undefined {
  if (found instanceof StoreError) throw found
  return found
}

/** Brings all functions of a database; empty where the source knows of none. Throws StoreError for what concerns the whole catalog. */
export async function reconcileFunctions(
  sides: Sides,
  database: string,
  knownOf: (name: string) => Known,
  onConflict: OnConflict,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const { source, target, writer } = sides
  const wanted = await functionsByName(source.functions, database, signal)
  if (wanted === undefined) return []
  const outcomes: Outcome[] = []
  // Where nothing is written, the database may be missing as well.
  const found = await unlessGone(functionsByName(target.functions, database, signal))
  for (const [name, its] of wanted) {
    const id = { kind: 'function', database, name } as const
    if (its instanceof StoreError) {
      outcomes.push({ ...id, result: 'failed', failure: failureOf(its) })
      continue
    }
    const known = knownOf(name)
    outcomes.push(
      await outcomeOf(sides, id, known, async (writing) => {
        const { functions } = writer
        if (functions === undefined)
          throw new StoreError('unsupported', 'the target does not support functions')
        return reconcileFunction(
          { sides, functions, known, onConflict, writing, signal },
          sides.wanted.function(its),
          readable(found?.get(name)),
        )
      }),
    )
  }
  return outcomes
}

async function reconcileFunction(
  {
    sides,
    functions,
    known,
    onConflict,
    writing,
    signal,
  }: {
    readonly sides: Sides
    readonly functions: NonNullable<Sides['writer']['functions']>
    readonly known: Known
    readonly onConflict: OnConflict
    readonly writing: Writing
    readonly signal: AbortSignal
  },
  wanted: CatalogFunction,
  is: CatalogFunction | undefined,
): Promise<Outcome> {
  const id = { kind: 'function', database: wanted.database, name: wanted.name } as const
  const digest = sides.digest(wanted)
  const found = is && sides.digest(is)
  const settled = { wanted: digest, is: digest }
  if (found === digest) return { ...id, result: 'same', settled }
  const isOurs = known.is === found || known.inHand === true || onConflict === 'overwrite'
  if (!isOurs) return { ...id, result: 'conflict', message: conflictMessage }
  writing()
  if (is === undefined) await functions.create(wanted, signal)
  else await functions.alter(wanted, signal)
  return { ...id, result: is === undefined ? 'created' : 'changed', settled }
}
