import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { BasicConfig } from '../../../config/security.ts'
import { Bcrypt } from './bcrypt.ts'
import type { PasswordSource } from './password-check.ts'

/** The one user of the configuration. */
export function basicSource({ user, passwordHash, role }: BasicConfig): PasswordSource {
  const bcrypt = new Bcrypt()
  const key = randomBytes(32)
  const digest = (text: string) => createHmac('sha256', key).update(text).digest()
  const userDigest = digest(user)
  return {
    verify: async ({ userName, password }) => {
      // The password of an unknown user is compared too, so that both take as long.
      const isPassword = await bcrypt.compare(password, passwordHash)
      const isUser = timingSafeEqual(digest(userName), userDigest)
      return isUser && isPassword ? { source: 'basic', subject: user, groups: [], roles: [role] } : undefined
    },
    close: () => bcrypt.close(),
  }
}
