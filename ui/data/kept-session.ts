import { useEffect } from 'react'
import { ownToken } from './session.ts'

/** Well within the time that a session has left when it is due to be refreshed. */
const askEveryMs = 5 * 60_000

/** Has the platform refresh the session in time: it does so with the requests of a browser, and pages make none by themselves. */
export function useKeptSession(): void {
  useEffect(() => {
    // What has gone wrong shows where the broker cannot be reached any more.
    const timer = setInterval(() => void ownToken().catch(() => undefined), askEveryMs)
    return () => clearInterval(timer)
  }, [])
}
