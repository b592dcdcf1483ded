import { AuditTrail } from '../../broker/audit/trail.ts'
import type { Log } from '../../broker/common/log.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { audit, type AuditEntry } from '../../subjects/access/audit.ts'
import { service } from '../kit/part.ts'
import { auditHandlers } from './handlers.ts'

export { auditRecorder } from './recorder.ts'

export interface AuditNeeds {
  readonly connection: NatsConnection
  readonly identity: { readonly instance: string }
  readonly maxFileBytes: number
  /** How long records are kept. */
  readonly auditRetentionMs: number
  readonly log: Log
}

/** The audit log, and its trail for those who write to it. */
export const auditService = service({
  name: 'audit',
  contracts: { audit },
  start: async ({ connection, identity, maxFileBytes, auditRetentionMs, log }: AuditNeeds) => {
    const trail = await AuditTrail.open<AuditEntry>(connection, {
      instance: identity.instance,
      maxFileBytes,
      retentionMs: auditRetentionMs,
      log,
    })
    return {
      gives: { trail },
      handlers: { audit: auditHandlers(trail.reader) },
      stop: () => trail.close(),
    }
  },
})
