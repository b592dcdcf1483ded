import type { Output } from '../../subjects/kit/contract.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { matches } from '../../subjects/kit/validate.ts'
import { platform } from '../../subjects/platform/platform.ts'
import type { Session } from '../sign-in/session.ts'

type Health = Output<(typeof platform)['health']>

/** A platform that is not healthy answers an error, with the same details. */
export async function healthOf(session: Session): Promise<Health> {
  try {
    return await session.call(platform.health, {})
  } catch (error) {
    if (isGantryError(error, 'UNAVAILABLE') && matches(platform.health.output, error.details))
      return error.details
    throw error
  }
}
