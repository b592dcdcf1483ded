import type { KV } from '@nats-io/kv'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { idOfToken } from '../../subjects/kit/names.ts'
import { bucketOptions } from './bucket.ts'
import { ConfigError } from '../../config/config-error.ts'
import { parseEnvelope } from './envelope.ts'
import { lastOfEach } from './jetstream.ts'
import type { RecordJournal } from './books/record-journal.ts'
import type { Found, LossKind } from './books/record-losses.ts'
import { isWritable, makeAnew, unlessDamaged } from './writable-bucket.ts'

export interface Reconciliation {
  readonly connection: NatsConnection
  readonly bucket: string
  readonly kv: KV
  readonly journal: RecordJournal
  /** Hears what is wrong before anything is changed, so that a kill in between hides nothing. */
  readonly tell: (found: readonly Found[]) => void
}

/**
 * Compares a bucket with its journal, before anybody uses it, and puts it back to what was acknowledged. nats-server
 * drops a damaged message and all that follow it in its block without a word: older revisions become the last ones, and
 * deleted records exist again.
 *
 * What the bucket knows better is noted: a process that was killed between the two writes leaves the journal behind.
 */
export async function reconcile(reconciliation: Reconciliation): Promise<Found[]> {
  const { connection, bucket, kv, journal, tell } = reconciliation
  const defects = await possible(reconciliation, () => defectsOf(reconciliation))
  const told = [...(defects ?? [])].filter(([, { isByKill }]) => !isByKill)
  const found: Found[] = told.map(([key, { kind }]) => ({ store: bucket, id: idOfToken(key), kind }))
  if (!journal.isIntact)
    found.push({
      store: bucket,
      kind: defects !== undefined && told.length === 0 ? 'JOURNAL_DAMAGED' : 'IN_DOUBT',
    })
  else if (defects === undefined) found.push({ store: bucket, kind: 'UNREADABLE' })
  tell(found)
  const repaired = async (all: Map<string, Defect>) => {
    for (const [key, { stored }] of all) {
      const text = await journal.text(key)
      if (text !== undefined) await journal.wrote(key, await kv.put(key, text), text)
      else if (stored !== undefined) await kv.delete(key, { previousSeq: stored })
    }
    // With an index that does not fit the damaged messages, nats-server takes what is written and drops it.
    return all.size === 0 || (await defectsOf(reconciliation)).size === 0
  }
  const isRepaired =
    defects !== undefined && (await possible(reconciliation, () => repaired(defects))) === true
  if (!isRepaired) await rebuild(reconciliation)
  else if (!(await isWritable(connection, bucket, kv))) {
    // What is told of the bucket already is more.
    if (found.every(({ id }) => id !== undefined)) found.push(...tellUnusable(reconciliation))
    await rebuild(reconciliation)
  }
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const { state } = await manager.streams.info(`KV_${bucket}`)
  await journal.lowerDeletions(state.last_seq)
  return found
}

function tellUnusable({ bucket, tell }: Reconciliation): Found[] {
  const found: Found[] = [{ store: bucket, kind: 'UNUSABLE' }]
  tell(found)
  return found
}

/** Rebuilds a bucket that agrees with its journal, and cannot be used all the same; tells so. */
export async function renew(reconciliation: Reconciliation): Promise<void> {
  tellUnusable(reconciliation)
  await rebuild(reconciliation)
}

/** @throws when there is no journal to rebuild the bucket from */
async function possible<T>(
  { connection, bucket, journal }: Reconciliation,
  use: () => Promise<T>,
): Promise<T | undefined> {
  if (journal.existing().next().done === true) return use()
  return unlessDamaged(connection, bucket, use)
}

interface Defect {
  readonly kind: LossKind
  /** Revision that is in the bucket. */
  readonly stored: number | undefined
  /** nats-server has forgotten by a kill that the record was erased: nothing is damaged. */
  readonly isByKill: boolean
}

/** What is wrong with the records, by key; notes what the journal does not know yet. */
async function defectsOf({ connection, bucket, kv, journal }: Reconciliation): Promise<Map<string, Defect>> {
  const prefix = `$KV.${bucket}.`
  const seen = new Set<string>()
  const suspects = new Set<string>()
  const notes: Promise<void>[] = []
  const look = (key: string, revision: number, text: string | undefined) => {
    const known = journal.get(key)
    const isDeletion = text === undefined
    seen.add(key)
    if (known === undefined || revision > known.revision) {
      const isGone = isDeletion || parseEnvelope(text)?.gone === true
      // The deletion of what the journal has never heard of needs no note.
      if (!isGone) notes.push(journal.wrote(key, revision, text))
      else if (known?.isDeleted === false) notes.push(journal.deleted(key, revision))
    } else if (isDeletion !== known.isDeleted || (!isDeletion && revision < known.revision)) suspects.add(key)
  }
  await lastOfEach(connection, `KV_${bucket}`, `${prefix}*`, (message) => {
    const isDeletion = Boolean(message.headers?.get('KV-Operation'))
    look(message.subject.slice(prefix.length), message.sequence, isDeletion ? undefined : message.string())
  })
  await Promise.all(notes)
  for (const key of journal.existing()) if (!seen.has(key)) suspects.add(key)
  const defects = new Map<string, Defect>()
  for (const key of suspects) {
    const entry = await kv.get(key)
    const stored = entry?.operation === 'PUT' ? entry : undefined
    const known = journal.get(key)
    if (known?.isDeleted === false) {
      const kind = stored === undefined ? 'LOST' : 'ROLLED_BACK'
      defects.set(key, { kind, stored: stored?.revision, isByKill: false })
    } else if (stored !== undefined && parseEnvelope(stored.string())?.gone !== true)
      // The facts of a deletion are told before it is carried out, by whoever opens the collection.
      defects.set(key, { kind: 'RETURNED', stored: stored.revision, isByKill: known?.isErased === true })
  }
  return defects
}

/**
 * Rebuilds the bucket from its journal, which has all that is in it.
 * @throws ConfigError when the journal lacks a change or cannot be read: the bucket would have less than before
 */
async function rebuild({ connection, bucket, kv, journal }: Reconciliation): Promise<void> {
  const refuse = (reason: string, fix: string) => {
    throw new ConfigError(
      `the bucket ${bucket} is damaged and cannot be rebuilt because its journal is incomplete (${reason}): ${fix}, then start again. Nothing was changed`,
    )
  }
  if (journal.problem !== undefined) refuse(journal.problem, 'free space on its disk')
  for (const key of journal.existing())
    if ((await journal.text(key)) === undefined)
      refuse(
        `the record ${idOfToken(key)} cannot be read`,
        'restore the configuration folder and the store from a backup',
      )
  await makeAnew(connection, bucket, bucketOptions)
  for (const key of [...journal.existing()]) {
    const text = await journal.text(key)
    if (text !== undefined) await journal.wrote(key, await kv.put(key, text), text)
  }
}
