import { type BigIntStats, statSync } from 'node:fs'
import { StoreError } from '../../drivers/contract/driver.ts'
import type { Mount } from '../../drivers/local/mounts.ts'
import { bornAt, hasSteadyInodes } from './source-mark.ts'

/**
 * Which folder the target is, where it is one of this host, by the numbers that the system has for it until it mounts it
 * anew. Plain data.
 */
export interface TargetMark {
  /** Absolute. */
  readonly folder: Uint8Array
  /** Whether inode numbers of its file system say which folder it is. */
  readonly hasInode: boolean
  /** Another text for another folder. */
  readonly is: string
}

/** @param mount that the folder is in */
export function targetMarkOf(folder: Uint8Array, stats: BigIntStats, mount: Mount | undefined): TargetMark {
  const hasInode = hasSteadyInodes(mount)
  return { folder, hasInode, is: textOf(stats, hasInode) }
}

const textOf = (stats: BigIntStats, hasInode: boolean): string =>
  hasInode ? `${stats.dev} ${stats.ino} ${bornAt(stats) ?? ''}` : `${stats.dev}`

/**
 * Throws a StoreError `unreachable` when a target is not the folder that its mark says. What was written between two calls
 * that do not throw was not written into what stood in its place.
 */
export function requireTarget(mark: TargetMark | undefined): void {
  if (mark === undefined) return
  const { folder, hasInode, is } = mark
  let now: string
  try {
    now = textOf(statSync(Buffer.from(folder), { bigint: true }), hasInode)
  } catch (cause) {
    throw new StoreError('unreachable', 'its folder cannot be looked at', { cause, side: 'target' })
  }
  if (now !== is) throw new StoreError('unreachable', 'its folder has been replaced', { side: 'target' })
}
