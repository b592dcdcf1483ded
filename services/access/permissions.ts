import type { Capabilities } from '../../subjects/access/keys.ts'
import { coveringRule, ruleCovers } from '../../subjects/kit/patterns.ts'
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

/** What both allow: rules of one that the other covers. What is in both only in part is in neither. */
export function intersection(one: Capabilities, other: Capabilities): Capabilities {
  const common = (action: 'pub' | 'sub') => {
    const covered = one[action].allow.filter((rule) => coveringRule(other[action].allow, rule) !== undefined)
    const covering = other[action].allow.filter((rule) => coveringRule(one[action].allow, rule) !== undefined)
    return { allow: withoutCovered([...covered, ...covering]) }
  }
  return { pub: common('pub'), sub: common('sub') }
}

/** The extensions that both show; `*` shows all. */
export function seenByBoth(one: readonly string[], other: readonly string[]): string[] {
  if (one.includes('*')) return [...other]
  return other.includes('*') ? [...one] : one.filter((prefix) => other.includes(prefix))
}

/** The rules, each once, without those that another one includes. */
function withoutCovered(rules: readonly string[]): string[] {
  const distinct = [...new Set(rules)]
  return distinct.filter((rule) => !distinct.some((other) => other !== rule && ruleCovers(other, rule)))
}
