import { abortable } from '../../../broker/common/abortable.ts'
import { openDriver } from '../../drivers/index.ts'
import { bootId } from '../../drivers/paths/temporary-names.ts'
import { type MoveSpec, openSpec, targetFolders } from '../../engine/run/run.ts'

/** Of the boot of this host; undefined where that is not known. */
export const thisBoot: string | undefined = bootId.trim() || undefined

/** Whether a loss of power may take away what this host has written to the target, until it is flushed. */
export async function needsFlush(spec: MoveSpec): Promise<boolean> {
  const driver = await openDriver(spec.target, 'target')
  try {
    return driver.flush !== undefined
  } finally {
    await driver.close()
  }
}

/**
 * Resolves when a loss of power takes away nothing of what this host has written to the target: before a migration is said
 * to be done, and before an agent lets go of one. Rejects with StoreErrors, and with the signal's reason at once, though a mount
 * whose server is gone may hold a call for ever.
 */
export const flushTarget = (spec: MoveSpec, signal: AbortSignal): Promise<void> =>
  abortable(flush(spec, signal), signal)

/** The same, for as long as that may take. Rejects with an Error that says so after that. */
export async function flushWithin(spec: MoveSpec, ms: number): Promise<void> {
  const patience = new AbortController()
  const tooLong = new Error(`the target does not answer within ${ms / 1_000} s`)
  const timer = setTimeout(() => patience.abort(tooLong), ms)
  try {
    await flushTarget(spec, patience.signal)
  } finally {
    clearTimeout(timer)
  }
}

async function flush(spec: MoveSpec, signal: AbortSignal): Promise<void> {
  const driver = await openDriver(spec.target, 'target')
  try {
    await driver.flush?.(targetFolders(openSpec(spec)), signal)
  } finally {
    await driver.close()
  }
}
