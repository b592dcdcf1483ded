import { GantryError } from '../../../../subjects/errors.ts'

/** The error for a pattern that cannot be taken. */
export const refusedPattern = (problem: string, cause?: unknown) =>
  new GantryError('INVALID_INPUT', `input: regex ${problem}`, {
    details: [{ field: 'regex', problem }],
    cause,
  })
