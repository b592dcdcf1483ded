import type { ThreadOptions } from './contract/kind.ts'
import { addKinds, knownKinds } from './index.ts'
import { incarnation } from './paths/temporary-names.ts'

/** What a thread that uses drivers is started with, as a part of its `workerData`. Plain data. */
export interface DriverThreadData {
  /** See `temporary-names.ts`. */
  readonly incarnation: string
  /** Of kinds that share some with their threads, by name. */
  readonly memory: Readonly<Record<string, SharedArrayBuffer>>
  readonly options: DriverThreadOptions
}

export interface DriverThreadOptions extends ThreadOptions {
  /** Modules of kinds of filesystems that are not in the list (`addKinds`). */
  readonly kinds?: readonly string[] | undefined
}

export function driverThreadData({ nativeCallsAfter, kinds }: DriverThreadOptions): DriverThreadData {
  const memory: Record<string, SharedArrayBuffer> = {}
  for (const { kind, inThreads } of knownKinds())
    if (inThreads !== undefined) memory[kind] = inThreads.memory()
  return { incarnation, memory, options: { nativeCallsAfter, kinds } }
}

/** To be called in the thread, before its first driver is opened. */
export async function startDrivers({ memory, options }: DriverThreadData): Promise<void> {
  for (const { kind, inThreads } of knownKinds()) {
    const own = memory[kind]
    if (own !== undefined) inThreads?.start(own, options)
  }
  await addKinds(options.kinds ?? [])
}

/** To be called in the thread at the end of each job, before anybody is told. */
export function endDriversJob(): void {
  for (const { inThreads } of knownKinds()) inThreads?.endJob()
}

/** To be called by whoever started the thread, when it has ended. */
export function endDrivers({ memory }: DriverThreadData): void {
  for (const { kind, inThreads } of knownKinds()) {
    const own = memory[kind]
    if (own !== undefined) inThreads?.end(own)
  }
}
