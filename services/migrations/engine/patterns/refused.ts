import { notAccepted } from '../../../../subjects/errors.ts'

/** The error for a pattern that cannot be taken. */
export const refusedPattern = (problem: string, cause?: unknown) => notAccepted('regex', problem, cause)
