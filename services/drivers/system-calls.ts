import { createRequire } from 'node:module'
import type * as koffi from 'koffi'

/**
 * System calls that Node does not have. They need the optional package koffi, which brings its binaries along; where it is
 * missing, and on anything but Linux, there are none. Names and values are bytes; names end with a NUL.
 */
export interface SystemCalls {
  flistxattr(fd: number, list: Buffer, size: number): number
  fgetxattr(fd: number, name: Buffer, value: Buffer, size: number): number
  fsetxattr(fd: number, name: Buffer, value: Uint8Array, size: number, flags: number): number
  fremovexattr(fd: number, name: Buffer): number
  lseek(fd: number, offset: number, whence: number): number
  /** Number of the last error; that of a call that returned -1. */
  errno(): number
}

let known: { readonly calls: SystemCalls | undefined } | undefined

/** Loaded when first asked for: most migrations need none of them, and every thread would pay 10 ms. */
export function systemCalls(): SystemCalls | undefined {
  known ??= { calls: process.platform === 'linux' ? loaded() : undefined }
  return known.calls
}

function loaded(): SystemCalls | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `require` gives has no type
    const { load, errno } = createRequire(import.meta.url)('koffi') as typeof koffi
    const libc = load(null)
    return {
      flistxattr: libc.func('int64_t flistxattr(int fd, _Out_ void *list, size_t size)'),
      fgetxattr: libc.func('int64_t fgetxattr(int fd, const void *name, _Out_ void *value, size_t size)'),
      fsetxattr: libc.func(
        'int fsetxattr(int fd, const void *name, const void *value, size_t size, int flags)',
      ),
      fremovexattr: libc.func('int fremovexattr(int fd, const void *name)'),
      lseek: libc.func('int64_t lseek(int fd, int64_t offset, int whence)'),
      errno: () => errno(),
    }
  } catch {
    return undefined
  }
}
