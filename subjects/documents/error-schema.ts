import { Type } from 'typebox'
import type { Contract } from '../kit/contract.ts'
import { commonCodes, type ErrorCode, errors, isErrorCode } from '../kit/errors.ts'

const allCodes = Object.keys(errors).filter(isErrorCode)

/** `ErrorBody` as a schema, for the documents; later releases may add fields. */
export const ErrorSchema = Type.Object(
  {
    code: Type.Enum(allCodes, { description: 'Decide on this' }),
    message: Type.String({ description: 'For people; its wording may change' }),
    details: Type.Optional(
      Type.Unknown({ description: 'What is known of the fault; INVALID_INPUT: a list of {field, problem}' }),
    ),
    requestId: Type.String({ description: 'Finds the request in the log' }),
  },
  { description: 'Why a call failed' },
)

/** Every code that a call of the contract may answer, in the order of the table. */
export function codesOf({ errors: own }: Pick<Contract, 'errors'>): ErrorCode[] {
  const possible = new Set<string>([...commonCodes, ...own])
  return allCodes.filter((code) => possible.has(code))
}

/** The error schema, referred to, with these codes alone. */
export const errorOfCodes = (codes: readonly ErrorCode[]) => ({
  allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { enum: codes } } }],
})
