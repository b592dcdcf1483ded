import { Type } from 'typebox'
import type { Contract } from '../kit/contract.ts'
import { commonCodes, type ErrorCode, errors, isErrorCode } from '../kit/errors.ts'

const allCodes = Object.keys(errors).filter(isErrorCode)

/** `ErrorBody` as a schema, for the documents; later releases may add fields. */
export const ErrorSchema = Type.Object(
  {
    code: Type.Enum(allCodes, { description: 'Error code; base decisions on this field' }),
    message: Type.String({ description: 'Message for users; the wording may change' }),
    details: Type.Optional(
      Type.Unknown({ description: 'Details of the error; for INVALID_INPUT a list of {field, problem}' }),
    ),
    requestId: Type.String({ description: 'Request id, for finding the request in the log' }),
  },
  { description: 'Error of a failed request' },
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
