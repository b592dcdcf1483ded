import { Alert } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { loginPath } from '../../subjects/kit/names.ts'
import { rememberPlace } from '../data/return-place.ts'
import { ownToken } from '../data/session.ts'
import { useSession } from '../data/session-context.ts'

/** Of whether the session is still one, while the broker does not answer. */
const askEveryMs = 3_000

/** Says so while the broker cannot be reached, and whether that is because the session is over. */
export function Offline() {
  const session = useSession()
  const queries = useQueryClient()
  const [isOnline, setOnline] = useState(true)
  const [isOver, setOver] = useState(false)
  useEffect(
    () =>
      session.watch((isReached) => {
        setOnline(isReached)
        // What happened in between nobody has told.
        if (isReached) void queries.invalidateQueries()
      }),
    [session, queries],
  )
  useEffect(() => {
    if (isOnline || isOver) return
    const ask = async () => {
      try {
        if (session.isOwn(await ownToken())) return
      } catch (error) {
        if (!isGantryError(error, 'UNAUTHENTICATED')) return
      }
      setOver(true)
      // A forgotten tab would knock for ever, with a token that is refused and recorded each time.
      await session.close()
    }
    void ask()
    const timer = setInterval(() => void ask(), askEveryMs)
    return () => clearInterval(timer)
  }, [isOnline, isOver, session])
  if (isOnline) return null
  if (isOver)
    return (
      <Alert color="red" title="Your session has ended" role="alert" mb="md">
        It expired or was revoked.{' '}
        <a href={loginPath} onClick={rememberPlace}>
          Sign in again
        </a>
      </Alert>
    )
  return (
    <Alert color="red" title="Not connected" role="status" mb="md">
      The platform cannot be reached. This page may be out of date; it reconnects automatically.
    </Alert>
  )
}
