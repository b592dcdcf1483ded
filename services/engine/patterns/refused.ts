import { notAccepted } from '../../../subjects/kit/errors.ts'

/** The error for a pattern that cannot be taken. */
export const refusedPattern = (problem: string, cause?: unknown) => notAccepted('regex', problem, cause)
