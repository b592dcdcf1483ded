import { Type } from 'typebox'
import { checkDeadlineMs, passwordFields } from './authentication.ts'
import { internalResource } from '../kit/contract.ts'
import { strict } from '../kit/schemas.ts'

/** The token of a session: who has it may do what its user may. It stays between the platform's own services. */
const session = strict({ token: Type.String({ maxLength: 1_000, description: 'The API token' }) })

/** What the edge asks about the credentials of a request. */
export const authenticationInternal = internalResource('authentication', {
  basic: {
    summary: 'The session of whoever has this password',
    input: strict({
      ...passwordFields,
      server: Type.Enum(['migrator', 'metadata'], { description: 'Whose users are meant' }),
    }),
    output: session,
    errors: ['NOT_ALLOWED_IN_STATE'],
    http: [],
    deadlineMs: checkDeadlineMs,
  },
  bearer: {
    summary: 'The session that a JSON Web Token was made for',
    input: strict({ jwt: Type.String({ maxLength: 16_000, description: 'The JSON Web Token' }) }),
    output: session,
    errors: [],
    http: [],
  },
})
