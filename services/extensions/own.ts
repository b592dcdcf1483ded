import { GantryError } from '../../subjects/kit/errors.ts'
import type { ExtensionState } from './record.ts'
import { requireSubscription } from './registration.ts'
import type { ViewerOf } from './visibility.ts'

/**
 * Resolves to the owner of the key.
 * @throws GantryError DENIED, NOT_FOUND unless the key could be this extension, and is of the owner who has made it
 */
export type RequireOwn = (keyId: string, prefix: string) => Promise<string>

export const ownExtensions =
  ({ owned }: Pick<ExtensionState, 'owned'>, viewerOf: ViewerOf): RequireOwn =>
  async (keyId, prefix) => {
    const { owner, capabilities } = await viewerOf(keyId)
    requireSubscription(keyId, capabilities, prefix)
    const known = await owned.get(prefix)
    // Whose else it is, is nobody's business.
    if (known?.owner !== owner)
      throw new GantryError('NOT_FOUND', `you have no extension ${prefix}: register it first`)
    return owner
  }
