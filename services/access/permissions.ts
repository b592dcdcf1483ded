import type { Capabilities } from '../../subjects/access/keys.ts'
import { commonRules, withoutCovered } from '../../subjects/kit/patterns.ts'
import type { Role } from '../../subjects/access/roles.ts'

/** What somebody may do and see. */
export interface Permissions {
  readonly permissions: Capabilities
  readonly visible_extensions: string[]
}

/** All that any of the roles allows. */
export function union(roles: readonly Pick<Role, 'pub' | 'sub' | 'visible_extensions'>[]): Permissions {
  return {
    permissions: {
      pub: { allow: withoutCovered(roles.flatMap(({ pub }) => pub.allow)) },
      sub: { allow: withoutCovered(roles.flatMap(({ sub }) => sub.allow)) },
    },
    visible_extensions: [...new Set(roles.flatMap(({ visible_extensions }) => visible_extensions))],
  }
}

/** What both allow. */
export function intersection(one: Capabilities, other: Capabilities): Capabilities {
  const common = (action: 'pub' | 'sub') => ({ allow: commonRules(one[action].allow, other[action].allow) })
  return { pub: common('pub'), sub: common('sub') }
}

/** The extensions that both show; `*` shows all. */
export function seenByBoth(one: readonly string[], other: readonly string[]): string[] {
  if (one.includes('*')) return [...other]
  return other.includes('*') ? [...one] : one.filter((prefix) => other.includes(prefix))
}
