import { setTimeout as delay } from 'node:timers/promises'
import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import type { Session } from '../sign-in/session.ts'

/** A job tells how far it is by its figures alone. */
const intervalMs = 500

/** A job as it has ended. @param get shows it */
export async function endedJob<C extends Contract>(
  session: Pick<Session, 'call'>,
  job: Output<C>,
  get: C,
  input: Input<C>,
): Promise<Output<C>> {
  let now = job
  // Only jobs are waited for.
  while (!hasEnded(now)) {
    await delay(intervalMs)
    now = await session.call(get, input)
  }
  return now
}
