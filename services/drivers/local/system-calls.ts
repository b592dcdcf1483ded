import { fromLibraries } from '../native/libraries.ts'

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

/** System calls that take an open folder and the name of an entry, which ends with a NUL. */
export interface FolderCalls {
  openat(folder: number, name: Buffer, flags: number, mode: number): number
  renameat(folder: number, name: Buffer, toFolder: number, toName: Buffer): number
  /** @param into a `struct statx` */
  statx(folder: number, name: Buffer, flags: number, mask: number, into: Buffer): number
  close(fd: number): number
}

let known: { readonly calls: SystemCalls | undefined } | undefined

/** Loaded when first asked for: most migrations need none of them, and every thread would pay 10 ms. */
export function systemCalls(): SystemCalls | undefined {
  known ??= { calls: process.platform === 'linux' ? loaded() : undefined }
  return known.calls
}

/** As `systemCalls`; to be kept by who asks. */
export function folderCalls(): FolderCalls | undefined {
  if (process.platform !== 'linux') return undefined
  return fromLibraries(({ load }) => {
    const libc = load(null)
    return {
      openat: libc.func('int openat(int folder, const void *name, int flags, unsigned int mode)'),
      renameat: libc.func('int renameat(int folder, const void *name, int to_folder, const void *to_name)'),
      statx: libc.func('int statx(int folder, const void *name, int flags, unsigned int mask, void *into)'),
      close: libc.func('int close(int fd)'),
    }
  })
}

const loaded = () =>
  fromLibraries<SystemCalls>(({ load, errno }) => {
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
  })
