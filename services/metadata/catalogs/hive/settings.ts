import type { CatalogSettings } from '../contract/catalog.ts'
import { methods } from './idl.ts'
import type { Metastore } from './metastore.ts'

/** What decides on how a migration goes; the server lists none itself. */
const ofMigrations = [
  'hive.metastore.uris',
  'hive.metastore.warehouse.dir',
  'hive.metastore.warehouse.external.dir',
  'hive.metastore.transactional.event.listeners',
  'hive.metastore.event.listeners',
  'hive.metastore.event.db.listener.timetolive',
  'hive.metastore.event.db.notification.api.auth',
  'hive.metastore.thrift.framed.transport.enabled',
  'hive.metastore.sasl.enabled',
  'hive.metastore.use.SSL',
  'metastore.metadata.transformer.class',
]

/**
 * A server that reads its settings for the first time, for several at once, takes some for not set (seen with release 3.1.3).
 * So what is not set is asked for again.
 */
const maxAsked = 3

/** What the server is set up with. It tells what begins with hive, hdfs, mapred or metastore, and is no password. */
export class HiveSettings implements CatalogSettings {
  readonly names = ofMigrations
  readonly #metastore: Metastore

  constructor(metastore: Metastore) {
    this.#metastore = metastore
  }

  async value(name: string, signal: AbortSignal): Promise<string | undefined> {
    const what = this.#metastore.what(`setting ${name}`)
    for (let asked = 1; asked <= maxAsked; asked++) {
      const value = await this.#metastore.ask(methods.configValue, { name, fallback: '' }, what, signal)
      if (value !== '') return value
    }
    return undefined
  }
}
