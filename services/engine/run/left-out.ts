import type { StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { joinPath } from '../items/paths.ts'

/** Rules of a migration as they are sent to threads, and the path in the source that what they are asked about begins at. */
export interface LeavesOut {
  readonly packed: { readonly key: string; readonly json: SharedArrayBuffer }
  readonly root: Uint8Array
}

/** What is asked of compiled rules here. */
interface Compiled {
  excluding(folder: StorePath, root: StorePath): string | undefined
  inFolder(folder: StorePath): {
    readonly verdict: (entry: { name: Buffer; type: 'folder'; sizeBytes: number }) => unknown
  }
}

let unpack: ((packed: LeavesOut['packed']) => Compiled) | undefined

/** Rules are large, and threads load them with the first migration that has some: they say here how they are compiled. */
export const unpackWith = (how: typeof unpack): void => void (unpack = how)

/** Whether nothing at a path below the root is migrated, and nothing below it. */
export function isLeftOut(rules: LeavesOut | undefined, path: StorePath): boolean {
  if (rules === undefined) return false
  if (unpack === undefined) throw new Error('rules are needed that nobody has loaded')
  const compiled = unpack(rules.packed)
  const root = Buffer.from(rules.root)
  const whole = joinPath(root, path)
  if (compiled.excluding(whole, root) !== undefined) return true
  const folder = { name: nameOf(whole), type: 'folder', sizeBytes: 0 } as const
  return typeof compiled.inFolder(parentOf(whole)).verdict(folder) === 'object'
}
