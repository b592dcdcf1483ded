import type { Log } from '../../broker/common/log.ts'
import type { Handlers } from '../../subjects/kit/contract.ts'
import { type logging, logLevels } from '../../subjects/observability/logging.ts'

/** Shows and changes what is logged. */
export const loggingHandlers = (log: Log): Handlers<typeof logging> => {
  const now = () => ({ level: logLevels.find((level) => level === log.level) ?? 'info' })
  return {
    get: now,
    put: ({ level }) => {
      // Also when less is logged from now on, it is to be seen why.
      log.warn({ level }, `The log level is now ${level}.`)
      log.level = level
      return now()
    },
  }
}
