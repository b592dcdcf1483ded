import { StoreError } from '../contract/store-error.ts'
import { type Credentials, mechanisms, SecurityContext } from './security-context.ts'

/**
 * The token of SPNEGO with which a service of HTTP believes who asks: a ticket for it, in base64. Rejects with a StoreError.
 * @param service `HTTP@host`, or a principal with its realm
 */
export const negotiateToken = (credentials: Credentials, service: string): Promise<string> =>
  tokenBy('spnego', credentials, service).catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error
    // SPNEGO does not say why it has no ticket; the mechanism that it would choose does.
    return tokenBy('krb5', credentials, service)
  })

async function tokenBy(
  mechanism: keyof typeof mechanisms,
  credentials: Credentials,
  service: string,
): Promise<string> {
  const asked = { service, mechanism: mechanisms[mechanism], flags: 0 }
  const [context, first] = await SecurityContext.open(credentials, asked)
  using _ = context
  return first.toString('base64')
}
