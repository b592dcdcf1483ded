import { openDriver } from '../../drivers/index.ts'
import { type MoveSpec, openSpec, targetFolders } from '../../engine/run/run.ts'

/**
 * Resolves when a loss of power takes away nothing of what this host has written to the target: before a migration is said
 * to be done, and before an agent lets go of one. Rejects with StoreErrors, and with the signal's reason.
 */
export async function flushTarget(spec: MoveSpec, signal: AbortSignal): Promise<void> {
  const driver = await openDriver(spec.target, 'target')
  try {
    await driver.flush?.(targetFolders(openSpec(spec)), signal)
  } finally {
    await driver.close()
  }
}
