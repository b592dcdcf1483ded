import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { OwnerDays } from '../../broker/rpc/owner-days.ts'
import { askLimits } from '../../broker/rpc/owners.ts'
import type { Ledger, LedgerEntry } from '../../broker/state/ledger.ts'
import type { Caller, Handlers, Input, Output } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { extensionsInternal } from '../../subjects/extensions/extensions.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { tablePart } from '../../subjects/kit/table.ts'
import { unguessable } from '../../subjects/kit/unguessable.ts'
import { maxSummed, type usage, UsageRecord } from '../../subjects/observability/usage.ts'

/** What is stored of a record; its number is that of the ledger's entry. */
export interface RecordedUsage {
  readonly timeMs: number
  readonly prefix: string
  readonly dimension: string
  readonly quantity: number
  readonly owner: string
  readonly key: string
  /** Whose the extension was. */
  readonly by: string
}

type Filter = Input<(typeof usage)['totals']>
type Total = Output<(typeof usage)['totals']>[number]
type Entry = LedgerEntry<RecordedUsage>

/** Entries read at once. */
const chunkLength = 1_000
/** Entries looked at for one page or part where most are not for the caller: some seconds. */
const maxLooked = 100_000

const columns = Object.keys(UsageRecord.properties) as (keyof UsageRecord)[]

/** Usage: recorded by extensions, shown, summed up, handed out as a table. */
export function usageHandlers({
  connection,
  ledger,
}: {
  readonly connection: NatsConnection
  readonly ledger: Pick<Ledger<RecordedUsage>, 'tryAppend' | 'page'>
}): Handlers<typeof usage> {
  const records = new OwnerDays({
    limit: 'maxUsageRecords',
    problem: (owner, most) =>
      `the extensions of ${owner} have already made ${most} usage records within a day, which is the limit`,
    fix: 'combine records before sending them',
  })
  const permissionsOf = (id: string) => call(connection, keysInternal.permissions, { id })

  /** Whether somebody may see a record. */
  const seenBy = async (caller: Caller): Promise<(record: RecordedUsage) => boolean> => {
    if (caller.kind === 'platform') return () => true
    const { owner, isAdministrator } = await permissionsOf(caller.keyId)
    return (record) => isAdministrator || record.owner === owner || record.by === owner
  }

  /** Entries in order that fit, at most so many; `looked` is the number of the last one that was looked at, if there may be more. */
  const find = async (
    filter: Filter & { after?: number | undefined },
    caller: Caller,
    { most, look }: { most: number; look: number },
  ): Promise<{ found: Entry[]; looked: number | undefined }> => {
    const sees = await seenBy(caller)
    const { prefix = '*', dimension, owner, since, until } = filter
    const sinceMs = since === undefined ? 0 : Date.parse(since)
    const untilMs = until === undefined ? Infinity : Date.parse(until)
    const fits = ({ entry }: Entry) =>
      (dimension === undefined || entry.dimension === dimension) &&
      (owner === undefined || entry.owner === owner) &&
      entry.timeMs >= sinceMs &&
      entry.timeMs < untilMs &&
      sees(entry)
    const found: Entry[] = []
    let { after } = filter
    for (let count = 0; count < look; count += chunkLength) {
      const chunk = await ledger.page(prefix, {
        after,
        since: since === undefined ? undefined : new Date(since),
        limit: chunkLength,
      })
      for (const one of chunk) {
        after = one.sequence
        if (!fits(one)) continue
        found.push(one)
        if (found.length === most) return { found, looked: after }
      }
      if (chunk.length < chunkLength) return { found, looked: undefined }
    }
    return { found, looked: after }
  }

  return {
    record: async ({ prefix, id = unguessable(), dimension, quantity, owner }, { caller }) => {
      if (caller.kind === 'platform')
        throw new GantryError('DENIED', 'the platform itself is not an extension')
      const key = caller.keyId
      await call(connection, extensionsInternal.own, { key, prefix })
      const allowance = await askLimits(connection, key)
      records.charge(allowance)
      const by = allowance.owner
      const entry = { timeMs: Date.now(), prefix, dimension, quantity, owner: owner ?? by, key, by }
      return { id: await ledger.tryAppend(prefix, entry, `${prefix} ${id}`) }
    },
    list: async ({ limit = maxPageLength, ...filter }, { caller }) => {
      const { found, looked } = await find(filter, caller, { most: limit, look: maxLooked })
      return { records: found.map(recordOf), ...(looked === undefined ? {} : { next: looked }) }
    },
    totals: async (filter, { caller }) => {
      const { found, looked } = await find(filter, caller, { most: Infinity, look: maxSummed })
      if (looked !== undefined)
        throw new GantryError(
          'TOO_LARGE',
          `there are more than ${maxSummed} records: use a shorter period with since and until`,
        )
      return summedUp(found)
    },
    export: async ({ format = 'csv', from = 0, ...filter }, { caller }) => {
      const after = from === 0 ? undefined : from
      const asked = { most: maxPageLength, look: maxLooked }
      const { found, looked } = await find({ ...filter, after }, caller, asked)
      const rows = found.map((entry) => ({ sequence: entry.sequence, row: recordOf(entry) }))
      const part = tablePart(rows, { name: 'usage', columns, format, from, asked: Infinity })
      return part.next === undefined && looked !== undefined ? { ...part, next: looked } : part
    },
  }
}

const recordOf = ({ sequence, entry }: Entry): UsageRecord => {
  const { timeMs, prefix, dimension, quantity, owner, key } = entry
  return { id: sequence, time: new Date(timeMs).toISOString(), prefix, dimension, quantity, owner, key }
}

function summedUp(entries: readonly Entry[]): Total[] {
  const totals = new Map<string, Total>()
  for (const { entry } of entries) {
    const { prefix, dimension, owner, quantity } = entry
    const name = JSON.stringify([prefix, dimension, owner])
    const known = totals.get(name) ?? { prefix, dimension, owner, quantity: 0, records: 0 }
    known.quantity += quantity
    known.records += 1
    totals.set(name, known)
  }
  if (totals.size > maxPageLength)
    throw new GantryError(
      'TOO_LARGE',
      `there are more than ${maxPageLength} totals: filter by prefix, dimension or owner`,
    )
  return [...totals.values()]
}
