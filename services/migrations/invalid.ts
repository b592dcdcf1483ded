import { GantryError } from '../../subjects/errors.ts'

/** The refusal of one field of the input. @param problem completes "source …" */
export const invalidField = (field: string, problem: string): GantryError =>
  new GantryError('INVALID_INPUT', `input: ${field} ${problem}`, { details: [{ field, problem }] })
