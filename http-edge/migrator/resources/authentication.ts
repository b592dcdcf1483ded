import { authentication } from '../../../subjects/access/authentication.ts'
import { operation } from '../operation.ts'

export const authenticationOperations = [
  operation(authentication.authenticate, 'POST', '/authentication/authenticate', {
    public: 'credentials',
    // It is not about an object: there is nothing to sign in to.
    errors: { NOT_ALLOWED_IN_STATE: { status: 409 } },
  }),
]
