import type { AuditTrail } from '../../broker/audit/trail.ts'
import type { Log } from '../../broker/common/log.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { AuditEntry } from '../../subjects/access/audit.ts'
import { platform } from '../../subjects/platform/platform.ts'
import { service } from '../kit/part.ts'
import {
  auditComponent,
  lossesComponent,
  recordsComponent,
  storageComponent,
  tellOfSetAside,
} from './components.ts'
import { type PlatformDependencies, platformHandlers } from './handlers.ts'

export interface PlatformNeeds {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly trail: Pick<AuditTrail<AuditEntry>, 'requireRoom'>
  readonly version: string
  readonly identity: { readonly instance: string }
  /** Where clients reach it. */
  readonly addresses: Pick<PlatformDependencies['about'], 'broker' | 'http'>
  readonly aboutSignIn: Omit<PlatformDependencies['about'], 'broker' | 'http' | 'instance' | 'command'>
  /** How the command line is called. */
  readonly command: string
  readonly log: Log
}

/** What the platform says of itself. It comes last, as its health is that of all before it. */
export const platformService = service({
  name: 'platform',
  contracts: { platform },
  start: (
    { connection, journals, trail, version, identity, addresses, aboutSignIn, command, log }: PlatformNeeds,
    before,
  ) => ({
    handlers: {
      platform: platformHandlers({
        version,
        about: { ...aboutSignIn, instance: identity.instance, command, ...addresses },
        components: async () => [
          await storageComponent(connection),
          await recordsComponent(connection),
          auditComponent(trail),
        ],
        others: async () => [await lossesComponent(journals), ...(await before.health())],
        losses: journals.losses,
      }),
    },
    run: () => tellOfSetAside(connection, log),
  }),
})
