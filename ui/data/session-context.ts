import { createContext, use } from 'react'
import type { Session } from './session.ts'

export const SessionContext = createContext<Session | undefined>(undefined)

/** Of the person who is signed in: nothing is shown without one. */
export function useSession(): Session {
  const session = use(SessionContext)
  if (session === undefined) throw new Error('there is no session')
  return session
}
