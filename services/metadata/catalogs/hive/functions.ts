import { isDeepStrictEqual } from 'node:util'
import type { CatalogFunction } from '../../../../subjects/metadata/objects.ts'
import type { CatalogWriter, Functions, OnUnreadable } from '../contract/catalog.ts'
import { methods } from './idl.ts'
import { changing, type Metastore, sorted } from './metastore.ts'
import { unlessGone } from '../unless-gone.ts'
import { unlessOfAll } from '../unless-of-all.ts'
import { functionOf, hiveFunctionOf } from './objects.ts'

/** Functions that are asked for at the same time. */
const functionsAtOnce = 4

/** Functions of databases. The log of notifications tells nothing of one that is changed in place. */
export class HiveFunctions implements Functions, NonNullable<CatalogWriter['functions']> {
  readonly #metastore: Metastore

  constructor(metastore: Metastore) {
    this.#metastore = metastore
  }

  async list(
    database: string,
    signal: AbortSignal,
    onUnreadable?: OnUnreadable,
  ): Promise<readonly CatalogFunction[]> {
    const what = this.#metastore.what(`functions of ${database}`)
    const names = await this.#metastore.ask(methods.functionNames, { database, pattern: '*' }, what, signal)
    // Where there is no such database, there are none, too.
    if (names.length === 0) await this.#metastore.ask(methods.database, { name: database }, what, signal)
    const found: CatalogFunction[] = []
    const ordered = sorted(names)
    for (let at = 0; at < ordered.length; at += functionsAtOnce) {
      const batch = ordered.slice(at, at + functionsAtOnce)
      const asked = batch.map((name) =>
        unlessGone(this.#get(database, name, signal)).catch((error: unknown) => {
          if (onUnreadable === undefined) throw error
          onUnreadable(name, unlessOfAll(error))
          return undefined
        }),
      )
      for (const one of await Promise.all(asked)) if (one !== undefined) found.push(functionOf(one))
    }
    return found
  }

  async create(made: CatalogFunction, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`making function ${made.database}.${made.name}`)
    const create = { function: hiveFunctionOf(made) }
    await changing(this.#metastore.change(methods.createFunction, create, what, signal))
  }

  async alter(made: CatalogFunction, signal: AbortSignal): Promise<void> {
    const { database, name } = made
    const what = this.#metastore.what(`changing function ${database}.${name}`)
    const alter = async () => {
      const before = await this.#get(database, name, signal)
      const altered = hiveFunctionOf(made, before)
      // A change in place leaves the resources as they were.
      if (!isDeepStrictEqual(functionOf(before).resources, made.resources)) {
        await this.drop(database, name, signal)
        await this.create(made, signal)
      } else
        await this.#metastore.change(
          methods.alterFunction,
          { database, name, function: altered },
          what,
          signal,
        )
    }
    await changing(alter())
  }

  async drop(database: string, name: string, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`dropping function ${database}.${name}`)
    await changing(this.#metastore.change(methods.dropFunction, { database, name }, what, signal))
  }

  #get(database: string, name: string, signal: AbortSignal) {
    const what = this.#metastore.what(`function ${database}.${name}`)
    return this.#metastore.ask(methods.function, { database, name }, what, signal)
  }
}
