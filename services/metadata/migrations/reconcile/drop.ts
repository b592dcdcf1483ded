import type { Known, ObjectId, Outcome } from './objects.ts'
import { conflictMessage, type OnConflict, outcomeOf } from './reconcile.ts'
import type { Sides } from './sides.ts'

/**
 * Drops at the target what is gone at the source, once both have been looked at again: what is there again, or was changed
 * by somebody else at the target, stays. Throws StoreError for what concerns the whole catalog.
 */
export function drop(
  sides: Sides,
  id: ObjectId,
  known: Known,
  onConflict: OnConflict,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kind, database, name = '' } = id
  const { source, target, writer } = sides
  const isOurs = (found: string) => known.is === found || known.inHand === true || onConflict === 'overwrite'
  const conflict = { ...id, result: 'conflict', message: conflictMessage } as const
  return outcomeOf(id, async (writing) => {
    switch (kind) {
      case 'database': {
        if ((await source.database(database, signal)) !== undefined) return { ...id, result: 'kept' }
        const is = await target.database(database, signal)
        if (is !== undefined && !isOurs(sides.digest(is))) return conflict
        writing()
        if (is !== undefined) await writer.dropDatabase(database, signal)
        break
      }
      case 'table':
      case 'view': {
        if ((await source.table(database, name, signal)) !== undefined) return { ...id, result: 'kept' }
        const is = await target.table(database, name, signal)
        if (is !== undefined && !isOurs(sides.digest(is))) return conflict
        writing()
        if (is !== undefined) await writer.dropTable({ database, name }, signal)
        break
      }
      case 'function': {
        const its = (functions: typeof source.functions) =>
          functions?.list(database, signal).then((all) => all.find((one) => one.name === name))
        if ((await its(source.functions)) !== undefined) return { ...id, result: 'kept' }
        const is = await its(target.functions)
        if (is !== undefined && !isOurs(sides.digest(is))) return conflict
        writing()
        if (is !== undefined) await writer.functions?.drop(database, name, signal)
        break
      }
    }
    return { ...id, result: 'dropped' }
  })
}
