import { Type } from 'typebox'
import { form } from '../kit/forms.ts'

const principal = (example: string, description: string) =>
  Type.Optional(
    Type.String({
      ...form(
        '^[A-Za-z0-9._-]{1,128}(?:/[A-Za-z0-9._-]{1,255})?(?:@[A-Za-z0-9.-]{1,255})?$',
        `a Kerberos principal, such as ${example}`,
      ),
      description,
    }),
  )

/** Options that say who asks a service with Kerberos. @param where such a service, for people */
export const kerberosOptions = (where: string) => ({
  kerberosPrincipal: principal(
    'mover@EXAMPLE.COM or mover/host.example@EXAMPLE.COM',
    `Kerberos principal for all requests to ${where}; default realm: that of the host where Gantry runs. Requires kerberosKeytab`,
  ),
  kerberosKeytab: Type.Optional(
    Type.String({
      maxLength: 16_384,
      ...form('^[A-Za-z0-9+/\\s]*={0,2}\\s*$', 'base64'),
      contentEncoding: 'base64',
      description: 'Keytab with the keys of kerberosPrincipal: the contents of the file, in base64',
    }),
  ),
})

export const servicePrincipal = (description: string) => principal('hive/_HOST@EXAMPLE.COM', description)
