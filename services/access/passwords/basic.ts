import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { BasicConfig } from '../../../config/security.ts'
import { Bcrypt } from './bcrypt.ts'
import type { Person } from '../roles/people.ts'
import type { PasswordSource } from './password-check.ts'

/**
 * The one user of a configuration.
 * @param current the user at the moment; undefined when there is none
 */
export function basicSource(
  source: Person['source'],
  current: () => BasicConfig | undefined,
): PasswordSource {
  const bcrypt = new Bcrypt()
  const key = randomBytes(32)
  const digest = (text: string) => createHmac('sha256', key).update(text).digest()
  return {
    verify: async ({ userName, password }) => {
      const known = current()
      if (known === undefined) return undefined
      const { user, passwordHash, role } = known
      // The password of an unknown user is compared too, so that both take as long.
      const isPassword = await bcrypt.compare(password, passwordHash)
      const isUser = timingSafeEqual(digest(userName), digest(user))
      return isUser && isPassword ? { source, subject: user, groups: [], roles: [role] } : undefined
    },
    close: () => bcrypt.close(),
  }
}
