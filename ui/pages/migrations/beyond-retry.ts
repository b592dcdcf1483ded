import type { Output } from '../../../subjects/kit/contract.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { failureClasses } from '../../../subjects/migrations/model/failure-classes.ts'

type Failed = Pick<Output<typeof migrations.failures>['failedPaths'][number], 'failureClass'>

/** Whether a retry fails again with all of these, unless somebody mends the cause. */
export const areBeyondRetry = (failed: readonly Failed[]): boolean =>
  failed.length > 0 && failed.every(({ failureClass }) => !failureClasses[failureClass].retryable)
