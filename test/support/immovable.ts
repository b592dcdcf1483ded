import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isRoot } from './ordinary-user.ts'

/**
 * Lets nobody remove a file until the end of the scope: root needs an attribute for that, others a folder's mode, which is
 * enough where Gantry does not give itself the owner's rights.
 */
export function immovable(path: string): Disposable {
  const set = (isFast: boolean) => {
    if (isRoot) execFileSync('chattr', [isFast ? '+i' : '-i', path], { stdio: 'pipe' })
    else chmodSync(dirname(path), isFast ? 0o555 : 0o755)
  }
  set(true)
  return { [Symbol.dispose]: () => set(false) }
}

/** Why this process cannot do that, or undefined when it can. */
export function whyNotImmovable(): string | undefined {
  if (!isRoot && process.platform === 'linux') return 'only root can make a file that its owner cannot remove'
  const folder = mkdtempSync(join(tmpdir(), 'gantry-immovable-'))
  try {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    immovable(file)[Symbol.dispose]()
    return undefined
  } catch {
    return 'root cannot make a file immutable here'
  } finally {
    rmSync(folder, { recursive: true })
  }
}
