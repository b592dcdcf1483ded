import type { CatalogFunction } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { unlessGone } from '../../catalogs/unless-gone.ts'
import type { Known, Outcome } from './objects.ts'
import { conflictMessage, type OnConflict, outcomeOf, type Writing } from './reconcile.ts'
import type { Sides } from './sides.ts'

/** Brings all functions of a database; empty where the source knows of none. Throws StoreError for what concerns the whole catalog. */
export async function reconcileFunctions(
  sides: Sides,
  database: string,
  knownOf: (name: string) => Known,
  onConflict: OnConflict,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const { source, target, writer } = sides
  if (source.functions === undefined) return []
  const wanted = await source.functions.list(database, signal)
  // Where nothing is written, the database may be missing as well.
  const there = async () => target.functions?.list(database, signal)
  const found = new Map(((await unlessGone(there())) ?? []).map((one) => [one.name, one]))
  const outcomes: Outcome[] = []
  for (const its of wanted) {
    const id = { kind: 'function', database, name: its.name } as const
    outcomes.push(
      await outcomeOf(id, async (writing) => {
        const { functions } = writer
        if (functions === undefined) throw new StoreError('unsupported', 'the target holds no functions')
        return reconcileFunction(
          { sides, functions, known: knownOf(its.name), onConflict, writing, signal },
          sides.wanted.function(its),
          found.get(its.name),
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
