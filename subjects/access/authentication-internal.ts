import { Type } from 'typebox'
import { checkDeadlineMs, passwordFields } from './authentication.ts'
import { internalResource } from '../kit/contract.ts'
import { strict } from '../kit/schemas.ts'

/** The token of a session: who has it may do what its user may. It stays between the platform's own services. */
const session = strict({ token: Type.String({ maxLength: 1_000, description: 'API token' }) })

/** What the edge asks about the credentials of a request. */
export const authenticationInternal = internalResource('authentication', {
  basic: {
    summary: 'Get the session of a user by password',
    input: strict({
      ...passwordFields,
      server: Type.Enum(['migrator', 'metadata'], { description: 'Server whose users are checked' }),
    }),
    output: session,
    errors: ['NOT_ALLOWED_IN_STATE'],
    http: [],
    deadlineMs: checkDeadlineMs,
  },
  bearer: {
    summary: 'Get the session of a JSON Web Token',
    input: strict({ jwt: Type.String({ maxLength: 16_000, description: 'JSON Web Token' }) }),
    output: session,
    errors: [],
    http: [],
  },
})
