import { cleanups } from '../../../subjects/migrations/cleanups.ts'
import { operation } from '../operation.ts'

const errors = { NOT_FOUND: { errorCode: 'SOURCE_CLEANUP_REPORT_NOT_FOUND_EXCEPTION' } } as const

export const cleanupOperations = [
  operation(cleanups['reports-of'], 'GET', '/source-cleanup/{migrationId}/reports', { errors }),
  operation(cleanups['report-of'], 'GET', '/source-cleanup/reports/{migrationId}', { errors }),
]
