import type { Sealer } from '../../../broker/identity/seal.ts'
import {
  maskOptions,
  openOptions,
  type Options,
  sealOptions,
} from '../../../broker/identity/sealed-options.ts'
import {
  type FilesystemKind,
  filesystemKinds,
  type FilesystemSpec,
} from '../../../subjects/filesystems/kinds.ts'

/** Options for storage. */
export const sealSecrets = (kind: FilesystemKind, options: Options, sealer: Sealer) =>
  sealOptions(filesystemKinds[kind].secrets, options, sealer)

/** Options for replies. */
export const maskSecrets = (kind: FilesystemKind, options: Options) =>
  maskOptions(filesystemKinds[kind].secrets, options)

/** What a driver is opened with, secrets in the clear: never stored, logged or answered. */
export function openSecrets(kind: FilesystemKind, sealed: Options, sealer: Sealer): FilesystemSpec {
  const options = openOptions(filesystemKinds[kind].secrets, sealed, sealer)
  // The options were checked against the kind's schema when they came in.
  return { kind, options } as unknown as FilesystemSpec
}
