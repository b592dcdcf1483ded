import { closeHeld, createHeld, usualNativeCallsAfter, useNativeCalls } from './local/folder-entries.ts'
import { restoreModes } from './local/rights.ts'
import { incarnation } from './paths/temporary-names.ts'

/** What a thread that uses drivers is started with, as a part of its `workerData`. Plain data. */
export interface DriverThreadData {
  /** See `temporary-names.ts`. */
  readonly incarnation: string
  /** See `createHeld`. */
  readonly held: SharedArrayBuffer
  readonly nativeCallsAfter: number
}

/** @param nativeCallsAfter calls through paths before the thread loads system calls of its own (`folder-entries.ts`) */
export const driverThreadData = (nativeCallsAfter = usualNativeCallsAfter): DriverThreadData => ({
  incarnation,
  held: createHeld(),
  nativeCallsAfter,
})

/** To be called in the thread, before its first driver is opened. */
export const startDrivers = ({ held, nativeCallsAfter }: DriverThreadData): void =>
  useNativeCalls(held, nativeCallsAfter)

/** To be called in the thread at the end of each job, before anybody is told: what was only changed for the job is put back. */
export const endDriversJob = (): void => restoreModes()

/** To be called by whoever started the thread, when it has ended. */
export const endDrivers = ({ held }: DriverThreadData): void => closeHeld(held)
