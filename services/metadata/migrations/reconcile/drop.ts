import type { Known, ObjectId, Outcome } from './objects.ts'
import { conflictMessage, type OnConflict, outcomeOf } from './reconcile.ts'
import { functionsByName, readable } from './reconcile-functions.ts'
import { dropHidden } from './hidden.ts'
import type { Sides } from './sides.ts'

/**
 * Drops at the target what is gone at the source, once both have been looked at again: what is there again, or was changed
 * by somebody else at the target, stays. Throws StoreError for what concerns the whole catalog.
 */
export function drop(
  sides: Sides,
  id: ObjectId,
  { isHidden = false, ...known }: Known,
  onConflict: OnConflict,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kind, database, name = '' } = id
  const { source, target, writer } = sides
  const isOurs = (found: string) => known.is === found || known.inHand === true || onConflict === 'overwrite'
  const conflict = { ...id, result: 'conflict', message: conflictMessage } as const
  return outcomeOf(sides, id, known, async (writing) => {
    switch (kind) {
      case 'database': {
        if ((await source.database(database, signal)) !== undefined) return { ...id, result: 'kept' }
        const is = await target.database(database, signal)
        if (is !== undefined && !isOurs(sides.digest(is))) return conflict
        if (is === undefined) break
        writing()
        await writer.dropDatabase(database, signal)
        break
      }
      case 'table':
      case 'view': {
        if ((await source.table(database, name, signal)) !== undefined) return { ...id, result: 'kept' }
        if (isHidden || known.inHand === true) await dropHidden(sides, { database, name }, signal)
        const is = await target.table(database, name, signal)
        if (is !== undefined && !isOurs(sides.digest(is))) return conflict
        if (is === undefined) break
        writing()
        await writer.dropTable({ database, name }, signal)
        break
      }
      case 'function': {
        const its = async (functions: typeof source.functions) =>
          readable((await functionsByName(functions, database, signal))?.get(name))
        if ((await its(source.functions)) !== undefined) return { ...id, result: 'kept' }
        const is = await its(target.functions)
        if (is !== undefined && !isOurs(sides.digest(is))) return conflict
        if (is === undefined) break
        writing()
        await writer.functions?.drop(database, name, signal)
        break
      }
    }
    return { ...id, result: 'dropped' }
  })
}
