import { createRequire } from 'node:module'
import type * as koffi from 'koffi'

/**
 * What the optional package koffi gives of libraries of this host. It is loaded when first asked for: most threads need
 * nothing of it, and each would pay 10 ms.
 * @returns undefined where koffi, or what is asked of a library, is missing
 */
export function fromLibraries<T>(make: (library: typeof koffi) => T): T | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `require` gives has no type
    return make(createRequire(import.meta.url)('koffi') as typeof koffi)
  } catch {
    return undefined
  }
}
