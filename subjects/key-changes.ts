import { agentKeys } from './agents.ts'
import { keys } from './keys.ts'

/**
 * What makes, changes and ends keys. A token that a rotation has replaced may publish to none of it, whatever its key may:
 * else whoever found the old one in the time in which both are taken could make a key that stays, or lock the owner out.
 */
export const keyChanges: readonly string[] = [
  ...[keys.create, keys.update, keys.rotate, keys.revoke],
  agentKeys.register,
].map(({ subject }) => subject)
