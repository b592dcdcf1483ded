import { errors, isGantryError } from '../subjects/kit/errors.ts'

/** What a call of `gantry` ends with, for scripts; `--help` shows this table. */
export const exitCodes = {
  ok: { status: 0, meaning: 'done' },
  failed: {
    status: 1,
    meaning:
      'refused or failed; a watched migration has stopped or has failures; the audit log is not intact',
  },
  usage: { status: 2, meaning: 'wrong usage or invalid input' },
  unreachable: { status: 3, meaning: 'the platform cannot be reached' },
  denied: { status: 4, meaning: 'no valid token, or missing permissions' },
  interrupted: { status: 130, meaning: 'interrupted by Ctrl-C' },
} as const

const { failed, usage, unreachable, denied } = exitCodes

/** The exit code after an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (!isGantryError(error)) return failed.status
  switch (error.code) {
    case 'INVALID_INPUT':
    case 'NOT_ACCEPTED':
    case 'TOO_LARGE':
      return usage.status
    case 'UNAVAILABLE':
    case 'TIMEOUT':
      return isUnreachable(error) ? unreachable.status : failed.status
    default:
      return [401, 403].includes(errors[error.code].status) ? denied.status : failed.status
  }
}

/** Whether nobody answered; an error that a service answered has a request id. */
export const isUnreachable = (error: unknown): boolean =>
  (isGantryError(error, 'UNAVAILABLE') || isGantryError(error, 'TIMEOUT')) && error.requestId === undefined
