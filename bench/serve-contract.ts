import { Type } from 'typebox'
import { resource } from '../subjects/kit/contract.ts'
import { strict } from '../subjects/kit/schemas.ts'

const message = strict({ message: Type.String({ maxLength: 100 }) })

/** A capability that does nothing, so that only what `serve()` adds is measured. */
export const { echo } = resource('bench', {
  echo: { summary: 'Comes back', input: message, output: message, errors: [], http: [] },
})

/** The bare echo's subject: as long as the other, so that nobody measures what a longer name costs. */
export const bareSubject = echo.subject.replace('echo', 'bare')
