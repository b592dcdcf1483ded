import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { announceOthers, type OthersOptions } from '../../broker/rpc/discover-others.ts'
import { disconnect, isConnected, watchDisconnects } from '../../broker/callout/disconnects.ts'
import type { Identity } from '../../broker/identity/identity.ts'
import type { Log } from '../../broker/common/log.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { extensions, extensionsInternal } from '../../subjects/extensions/extensions.ts'
import { extensionStorage } from '../../subjects/extensions/storage.ts'
import { observabilityInternal } from '../../subjects/observability/observability.ts'
import type { Notices } from '../kit/notices.ts'
import { service } from '../kit/part.ts'
import { Directory } from './directory.ts'
import { discoverableBy, isOurs } from './discovery.ts'
import { extensionHandlers, extensionInternalHandlers } from './handlers.ts'
import { Lifecycle } from './lifecycle.ts'
import { LogBook } from './log-book.ts'
import { LostExtensions } from './lost.ts'
import { ownExtensions } from './own.ts'
import { OwnerStorage } from './owner-storage.ts'
import { openState } from './record.ts'
import { storageHandlers, Storages } from './storage.ts'
import { Violations } from './violations.ts'
import { askAccess } from './visibility.ts'

export interface ExtensionsNeeds {
  readonly journals: RecordJournals
  readonly connections: {
    readonly platform: NatsConnection
    readonly system: NatsConnection
    /** Where others ask which extensions there are. */
    readonly discovery: NatsConnection
  }
  readonly floods: OthersOptions['floods']
  readonly notices: Notices
  readonly identity: Pick<Identity, 'GANTRY' | 'AGENTS'>
  readonly log: Log
}

/** Calls on the storage of extensions at once; those who watch wait inside. One that waits takes a few kB. */
const maxWatchers = 4_096

/** What extensions there are, what they bring, and what they store. */
export const extensionsService = service({
  name: 'extensions',
  contracts: { extensions, extensionsInternal, extensionStorage },
  concurrency: { extensionStorage: maxWatchers },
  tasks: ['extensions.logs', 'extensions.silent', 'extensions.storage-watches'],
  start: async ({
    journals,
    connections: { platform, system, discovery },
    identity,
    floods,
    notices,
    log,
  }: ExtensionsNeeds) => {
    const state = await openState(platform, journals)
    const following = await Directory.open(state)
    const { directory } = following
    const missing = await LostExtensions.open(state, directory)
    const { lost } = missing
    const book = new LogBook(state.logs, log)
    const viewerOf = askAccess(platform)
    const lifecycle = new Lifecycle({
      state,
      directory,
      book,
      lost,
      isConnected: (connection) => isConnected(system, connection),
      disconnect: (connection) => disconnect(system, connection),
      log,
    })
    const disconnects = watchDisconnects(system, identity, (connection) => lifecycle.disconnected(connection))
    const announced = announceOthers(discovery, {
      identity,
      knownTo: discoverableBy(directory, viewerOf),
      isOurs,
      floods,
      log,
    })
    const storages = new Storages(platform)
    const ofOwners = new OwnerStorage(platform, state, (prefix) => storages.bytesOf(prefix))
    const dropStorage = (prefix: string) => storages.drop(prefix)
    const requireOwn = ownExtensions(state, viewerOf)
    const forgetMetrics = async (source: string) => {
      await call(platform, observabilityInternal.forget, { source })
    }
    const dependencies = {
      state,
      directory,
      lifecycle,
      book,
      lost,
      viewerOf,
      requireOwn,
      dropStorage,
      forgetMetrics,
    }
    const ownsPrefix = async (keyId: string, prefix: string) => {
      const owned = await state.owned.get(prefix)
      return owned !== undefined && (await viewerOf(keyId)).owner === owned.owner
    }
    const violations = new Violations({
      directory,
      note: (prefix, note) => book.note(prefix, note),
      ownsPrefix,
      log,
    })
    notices.on('violation', (violation) => violations.note(violation))
    const changed = (prefix: string) => notices.emit('extension', prefix)
    directory.onChange(changed)
    lost.onChange(changed)
    return {
      gives: {
        /** How many are there at the moment. */
        extensionCount: () => directory.prefixes().length,
      },
      handlers: {
        extensions: extensionHandlers(dependencies),
        extensionsInternal: extensionInternalHandlers(dependencies),
        extensionStorage: storageHandlers({ storages, ofOwners, requireOwn }),
      },
      halt: () => storages.end(),
      stop: async () => {
        for (const subscription of announced) subscription.unsubscribe()
        lifecycle.stop()
        await disconnects.stop()
        await Promise.all([following.stop(), missing.stop()])
        await book.flush()
      },
    }
  },
})
