import { StoreError } from '../../../drivers/contract/store-error.ts'
import { ReplyTooLong, ThriftException, ThriftRefusal } from '../../thrift/failures.ts'
import type { CatalogChange, CatalogChanges, CatalogFeed } from '../contract/catalog.ts'
import { changesIn } from './events.ts'
import { methods } from './idl.ts'
import { isLacking, type Metastore } from './metastore.ts'
import type { HiveSettings } from './settings.ts'

/** Lists of the classes that are told of changes. */
const listenerSettings = ['hive.metastore.transactional.event.listeners', 'hive.metastore.event.listeners']
/** What writes the log. */
const logListener = /DbNotificationListener/
/** One has all partitions that were added at once, some MB; a server has them all in memory. */
const eventsAtOnce = 50

/** The log of notifications. Its events have numbers without gaps; the oldest are deleted, after a day unless set otherwise. */
export class HiveFeed implements CatalogFeed {
  readonly #metastore: Metastore
  readonly #settings: HiveSettings

  constructor(metastore: Metastore, settings: HiveSettings) {
    this.#metastore = metastore
    this.#settings = settings
  }

  async position(signal: AbortSignal): Promise<string | undefined> {
    const listeners = await this.#listeners(signal)
    if (listeners === '') return undefined
    const last = await this.#last(signal)
    return last > 0n || logListener.test(listeners ?? '') ? String(last) : undefined
  }

  async changes(after: string, limit: number, signal: AbortSignal): Promise<CatalogChanges> {
    const begin = BigInt(after)
    const last = await this.#last(signal)
    const what = this.#metastore.what('changes')
    const gap = (why: string) => new StoreError('gone', `${what()}: ${why}`)
    if (last < begin)
      throw gap(`the notification log ends with event ${last}, before ${begin}: it was replaced`)
    const changes: CatalogChange[] = []
    let position = begin
    let atOnce = eventsAtOnce
    for (let count = 0; count < limit && position < last;) {
      const request = { lastEvent: position, maxEvents: Math.min(atOnce, limit - count) }
      let events
      try {
        events = (await told(this.#metastore.ask(methods.nextEvents, { request }, what, signal))).events ?? []
      } catch (error) {
        if (!(error instanceof StoreError) || !(error.cause instanceof ReplyTooLong)) throw error
        if (request.maxEvents === 1) throw gap(`event ${position + 1n} is too long`)
        atOnce = Math.ceil(request.maxEvents / 2)
        continue
      }
      if (events.length === 0) throw gap(`events after ${position} were deleted`)
      for (const event of events) {
        const { eventId = 0n } = event
        if (eventId !== position + 1n) throw gap(`events ${position + 1n} to ${eventId - 1n} were deleted`)
        changes.push(...changesIn(event))
        position = eventId
      }
      count += events.length
    }
    return { changes, position: String(position), behind: Math.max(0, Number(last - position)) }
  }

  /** Classes of its listeners; undefined where it does not say. */
  async #listeners(signal: AbortSignal): Promise<string | undefined> {
    try {
      const values = await Promise.all(listenerSettings.map((name) => this.#settings.value(name, signal)))
      return values.join('')
    } catch (error) {
      const cause = error instanceof StoreError ? error.cause : undefined
      if (cause instanceof ThriftException || cause instanceof ThriftRefusal) return undefined
      throw error
    }
  }

  async #last(signal: AbortSignal): Promise<bigint> {
    const what = this.#metastore.what('changes')
    return (await told(this.#metastore.ask(methods.lastEvent, {}, what, signal))).eventId ?? 0n
  }
}

/** All that a server says to whom it does not tell its changes is that it failed. */
async function told<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof StoreError) || !(error.cause instanceof ThriftRefusal) || isLacking(error))
      throw error
    const fix =
      'the user must be a Hadoop proxy user there (hadoop.proxyuser.<user>.hosts), or hive.metastore.event.db.notification.api.auth must be false'
    throw new StoreError('permission', `${error.message}: ${fix}`, { cause: error })
  }
}
