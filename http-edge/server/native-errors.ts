import { GantryError } from '../../subjects/kit/errors.ts'
import type { ErrorFormat } from './definition.ts'

/** The one envelope of errors that native clients know too. */
export const nativeErrors: ErrorFormat = {
  render: (error, requestId) => ({ status: error.status, text: error.toText(requestId) }),
  unknownPath: (method, path) =>
    new GantryError('NOT_FOUND', `${method} ${path} does not exist on this server`),
}
