import { permissionsOf } from '../../broker/identity/user-jwt.ts'
import type { Handlers, Output } from '../../subjects/kit/contract.ts'
import { coveringRule } from '../../subjects/kit/patterns.ts'
import type { rbac } from '../../subjects/access/roles.ts'
import { maxTextLength } from '../../subjects/kit/schemas.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import { callersKey, isAdministrator } from './callers.ts'
import { type KeyCollection, noKeyText, type StoredKey, whyInvalid } from './keys/keys.ts'
import { withheldFromReplaced } from './keys/withheld.ts'

type Decision = Output<(typeof rbac)['check']>

/** The question whether a key may do something, answered as the broker would. */
export function rbacHandlers({ keys }: { keys: KeyCollection }): Handlers<typeof rbac> {
  return {
    check: async ({ action, subject, keyId }, call) => {
      const own = await callersKey(keys, call.caller)
      const key = keyId === undefined ? own : await keys.get(keyId)
      if (key === undefined || !(own.owner === key.owner || isAdministrator(own))) {
        throw call.fail('NOT_FOUND', noKeyText(keyId ?? own.id))
      }
      return decide(key, action, subject)
    },
  }
}

function decide(key: StoredKey, action: 'publish' | 'subscribe', subject: string): Decision {
  const invalid = whyInvalid(key)
  if (invalid !== undefined) return denied(invalid)
  const { allow, deny } = permissionsOf(key.id, key.capabilities)[action === 'publish' ? 'pub' : 'sub']
  const rule = coveringRule(allow, subject)
  if (rule === undefined) {
    return denied(`no rule of key ${key.id} covers ${subject}; ${action} is allowed on ${allow.join(', ')}`)
  }
  const stronger = coveringRule(deny, subject)
  if (stronger !== undefined)
    return denied(`${rule} covers ${subject}, but no key may ${action} to ${stronger}`)
  return {
    allowed: true,
    rule,
    explanation: `allowed: ${rule} covers ${subject}${exceptionOf(key, action, subject)}`,
  }
}

/** The question is about a key; of its two tokens after a rotation, the old one may less. */
function exceptionOf({ previous }: StoredKey, action: 'publish' | 'subscribe', subject: string): string {
  const hasTwo = previous !== undefined && Date.parse(previous.until) > Date.now()
  return hasTwo && action === 'publish' && withheldFromReplaced.includes(subject)
    ? `, but not for the replaced token, which is valid until ${previous.until}`
    : ''
}

const denied = (reason: string): Decision => ({
  allowed: false,
  explanation: shortened(`denied: ${reason}`, maxTextLength),
})
