import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { strict, Timestamp } from '../kit/schemas.ts'

/** OpenID Connect allows as many for a subject; directories stay far below. */
const maxUserNameLength = 255
/** Longer than what any password manager makes. */
const maxPasswordLength = 1_000

/** Both may be empty: that is a wrong password like any other, and no malformed request. */
export const passwordFields = {
  userName: Type.String({ maxLength: maxUserNameLength, description: 'User name' }),
  password: Type.String({ maxLength: maxPasswordLength, description: 'Password of the user' }),
}

/** A bind, two searches and a second bind, each of which a directory may take seconds for. */
export const checkDeadlineMs = 30_000

/** Sign-in with a password, where the migrator’s access control is on. */
export const authentication = resource('authentication', {
  authenticate: {
    summary: 'Sign in with a password and get a JSON Web Token for the migrator',
    description:
      'Returns UNAUTHENTICATED (401) if the user name or the password is wrong, THROTTLED (429) after too many failed attempts, and UNAVAILABLE (503) while the directory is unavailable.',
    input: strict(passwordFields),
    output: strict({
      token: Type.String({
        maxLength: 4_000,
        description: 'JSON Web Token for the header Authorization: Bearer',
      }),
      expires: Timestamp('Expiry time'),
    }),
    errors: ['NOT_ALLOWED_IN_STATE'],
    http: [{ method: 'POST', path: '/api/v1/authentication', public: 'credentials' }],
    cli: { args: ['userName'], secrets: ['password'] },
    deadlineMs: checkDeadlineMs,
  },
})
