import type { Sealer } from '../../../broker/identity/seal.ts'
import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import type { CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { pathMappings } from '../../../subjects/rules/path-mappings.ts'
import { urisOf } from '../../drivers/index.ts'
import { filesystemOf, withFilesystem } from '../api/filesystem-of.ts'
import { type CatalogRecord, specOf } from '../api/record.ts'
import type { MetadataMigrationRecord } from './record.ts'
import type { Gate } from './reconcile/gates.ts'
import type { LocationRules } from './reconcile/locations.ts'
import type { WorkSides } from './reconcile/questions.ts'

/** What both ends of a migration are, as they are now. */
export class Ends {
  readonly #connection: NatsConnection
  readonly #catalogs: Collection<typeof CatalogRecord>
  readonly #sealer: Sealer

  constructor(connection: NatsConnection, catalogs: Collection<typeof CatalogRecord>, sealer: Sealer) {
    this.#connection = connection
    this.#catalogs = catalogs
    this.#sealer = sealer
  }

  /** @throws GantryError NOT_FOUND for a catalog or filesystem that is gone */
  async sidesOf({
    internalId,
    source,
    target,
    onConflict,
    statistics = 'all',
    privileges = false,
  }: MetadataMigrationRecord): Promise<WorkSides> {
    const [from, to] = await Promise.all([this.#catalog(source), this.#catalog(target)])
    const [sourceRoots, targetRoots] = await Promise.all([this.#rootsOf(from), this.#rootsOf(to)])
    const locations: LocationRules = {
      from: sourceRoots,
      to: targetRoots[0],
      mappings: await this.#mappings(from, to),
    }
    const [fromSpec, toSpec] = await Promise.all([this.#specOf(from), this.#specOf(to)])
    const ofWhich = onConflict === 'overwrite' ? 'all' : 'own'
    return {
      source: fromSpec,
      target: toSpec,
      locations,
      onConflict,
      statistics,
      privileges: privileges ? ofWhich : 'none',
      migration: internalId,
    }
  }

  /** Migrations of files between the filesystems of both catalogs; none where they are not known. */
  async gatesOf({ source, target }: MetadataMigrationRecord): Promise<Gate[]> {
    const [from, to] = await Promise.all([this.#catalog(source), this.#catalog(target)])
    const [sourceId, targetId] = [fileSystemOf(from), fileSystemOf(to)]
    if (sourceId === undefined || targetId === undefined) return []
    const askedMs = Date.now()
    const gates: Gate[] = []
    await this.#each(
      (after) =>
        call(this.#connection, migrations.list, {
          fileSystemId: sourceId,
          limit: maxPageLength,
          ...(after !== undefined && { after }),
        }),
      ({ migrationId }) => migrationId,
      (its) => {
        if (its.source !== sourceId || its.target !== targetId) return
        const { migrationId, path, state, scannerSummary, changeLagSeconds = 0, changesToldUntil } = its
        const { baseScanCompletionTime } = scannerSummary.progressSummary
        // Of one that is stopped or broken off, the lag is the time for which nobody has followed.
        const isLive = !its.scanOnlyMigration && !its.recurringMigration
        // What nobody has told of yet is in no lag.
        const toldUntilMs = changesToldUntil === undefined ? Infinity : Date.parse(changesToldUntil)
        const arrivedUntilMs = isLive ? Math.min(askedMs - changeLagSeconds * 1_000, toldUntilMs) : Infinity
        gates.push({
          migrationId,
          path,
          state,
          ...(baseScanCompletionTime !== undefined && { arrivedUntilMs }),
          ...(isLive && changesToldUntil !== undefined && { toldUntilMs }),
        })
      },
    )
    return gates
  }

  #specOf(record: CatalogRecord): Promise<CatalogSpec> {
    return withFilesystem(specOf(record, this.#sealer), {
      connection: this.#connection,
      sealer: this.#sealer,
    })
  }

  async #catalog(catalogId: string): Promise<CatalogRecord> {
    const record = await this.#catalogs.get(catalogId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no catalog ${catalogId}`)
    return record
  }

  /** URIs that locations begin with; empty where that is not known. */
  async #rootsOf({ options }: CatalogRecord): Promise<readonly string[]> {
    const { fileSystemId, defaultFsOverride } = options
    if (typeof defaultFsOverride === 'string') return [defaultFsOverride]
    if (typeof fileSystemId !== 'string') return []
    const { kind, options: its } = await filesystemOf(this.#connection, fileSystemId)
    // They were checked when the filesystem was made.
    return urisOf({ kind, options: its } as FilesystemSpec)
  }

  async #mappings(from: CatalogRecord, to: CatalogRecord): Promise<LocationRules['mappings']> {
    const [sourceId, targetId] = [fileSystemOf(from), fileSystemOf(to)]
    if (sourceId === undefined || targetId === undefined) return []
    const mappings: { sourcePath: string; targetPath: string }[] = []
    await this.#each(
      (after) =>
        call(this.#connection, pathMappings.list, {
          sourceFileSystemName: sourceId,
          targetFileSystemName: targetId,
          limit: maxPageLength,
          ...(after !== undefined && { after }),
        }),
      ({ id }) => id,
      ({ sourcePath, targetPath }) => void mappings.push({ sourcePath, targetPath }),
    )
    return mappings
  }

  async #each<T>(
    page: (after: string | undefined) => Promise<readonly T[]>,
    idOf: (one: T) => string,
    take: (one: T) => void,
  ): Promise<void> {
    let after: string | undefined
    for (;;) {
      const some = await page(after)
      for (const one of some) take(one)
      if (some.length < maxPageLength) return
      after = idOf(some.at(-1)!)
    }
  }
}

const fileSystemOf = ({ options: { fileSystemId } }: CatalogRecord): string | undefined =>
  typeof fileSystemId === 'string' ? fileSystemId : undefined
