import { AsyncLocalStorage } from 'node:async_hooks'

/*
 * What ends the requests of a job, at whatever store and by whatever driver: each request that has no signal of its own ends
 * with the job that it is made in. What is made outside of any job ends by its limits alone.
 */

const jobs = new AsyncLocalStorage<AbortSignal | undefined>()

/** Of the job that the caller works for; undefined outside of any. */
export const jobSignal = (): AbortSignal | undefined => jobs.getStore()

/** Does the work of a job: its requests end with the signal. */
export const withinJob = <T>(signal: AbortSignal, work: () => T): T => jobs.run(signal, work)

/** Does what others may wait for as well, such as a token, or what goes on by itself: it does not end with the job. */
export const beyondJobs = <T>(work: () => T): T => jobs.run(undefined, work)

/** A store that has fallen silent is not waited for any longer once the job has ended; a sweep finds what is left. */
const cleanUpMs = 5_000

/** Puts in order what a job leaves behind: it is done after the job's end too, but then not for long. */
export async function cleaningUp<T>(work: () => Promise<T>): Promise<T> {
  const job = jobSignal()
  if (job === undefined) return work()
  const end = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const endSoon = () => {
    timer = setTimeout(() => end.abort(job.reason), cleanUpMs)
  }
  if (job.aborted) endSoon()
  else job.addEventListener('abort', endSoon, { once: true })
  try {
    return await withinJob(end.signal, work)
  } finally {
    clearTimeout(timer)
    job.removeEventListener('abort', endSoon)
  }
}
