import { closeSync, constants, fsyncSync, lstatSync, openSync } from 'node:fs'
import { permitted } from '../rights.ts'
import { parentOf } from '../../paths/path-text.ts'

/**
 * Has the system write a file or link of the host, and its name, to the disk. The folder of a name is enough: those above
 * it come before it in the journals of all usual file systems. Throws system errors.
 */
export function persistEntry(absolutePath: Buffer): void {
  // A link has no content but its name.
  if (lstatSync(absolutePath).isFile()) sync(absolutePath)
  sync(Buffer.concat([parentOf(absolutePath), Buffer.from('/.')]))
}

function sync(path: Buffer): void {
  const fd = permitted(() => openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW), path)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
