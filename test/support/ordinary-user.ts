import { spawnSync } from 'node:child_process'

export const isRoot = process.getuid?.() === 0

/** Somebody whom modes deny something: nobody, where the tests are run as root; else who runs them. */
export const ordinaryUser = isRoot ? 65_534 : (process.getuid?.() ?? 0)

/** Starts a process as that user. */
export const asOrdinaryUser = isRoot ? { uid: ordinaryUser, gid: ordinaryUser } : {}

/** Why that user cannot run a file of ours, or undefined when it can: it may be in a folder that nobody else may read. */
export function whyNotRunnable(path: string): string | undefined {
  const script = 'require("node:fs").accessSync(process.argv[1])'
  const { status } = spawnSync(process.execPath, ['-e', script, path], { cwd: '/', ...asOrdinaryUser })
  return status === 0 ? undefined : 'nobody but root can read these files'
}
