import type { Log } from '../../../broker/common/log.ts'
import type { AdminRules } from '../../../config/platform.ts'
import { every } from '../../../broker/tasks/tasks.ts'
import { files } from '../../../subjects/kit/names.ts'

export const bootstrapWarning = `bootstrap mode: everybody who signs in is an administrator; set admin_subject or admin_group in ${files.config}, or set rbac.bootstrap to true if this is intended`

/** Whether everybody who signs in is an administrator, as the configuration names none. */
export const isBootstrap = ({ adminSubject, adminGroup }: AdminRules): boolean =>
  adminSubject === undefined && adminGroup === undefined

/** Whether that is so and nobody has said that it is meant. */
export const isUnintended = (rules: AdminRules): boolean => isBootstrap(rules) && !rules.bootstrapAcknowledged

/** Warns at once and every hour, while it may not be meant. */
export function warnOfBootstrap(rules: AdminRules, log: Log): { stop(): void } {
  if (!isUnintended(rules)) return { stop: () => undefined }
  const warn = () => log.warn({}, `This platform is in ${bootstrapWarning}.`)
  warn()
  return every('access.bootstrap-warning', warn)
}
