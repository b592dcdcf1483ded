import type { Sealer } from '../../../broker/identity/seal.ts'
import {
  type FilesystemKind,
  filesystemKinds,
  type FilesystemSpec,
} from '../../../subjects/filesystems/kinds.ts'

type Options = Record<string, unknown>

/** Shown in place of a secret; its length says nothing about that of the secret. */
const mask = '********'

function mapSecrets(kind: FilesystemKind, options: Options, change: (secret: string) => string): Options {
  const secrets: readonly string[] = filesystemKinds[kind].secrets
  const entries = Object.entries(options).map(([name, value]) => [
    name,
    secrets.includes(name) && typeof value === 'string' ? change(value) : value,
  ])
  return Object.fromEntries(entries) as Options
}

/** Options for storage. */
export const sealSecrets = (kind: FilesystemKind, options: Options, sealer: Sealer): Options =>
  mapSecrets(kind, options, (secret) => sealer.seal(secret))

/** Options for replies. */
export const maskSecrets = (kind: FilesystemKind, options: Options): Options =>
  mapSecrets(kind, options, () => mask)

/** What a driver is opened with, secrets in the clear: never stored, logged or answered. */
export function openSecrets(kind: FilesystemKind, sealed: Options, sealer: Sealer): FilesystemSpec {
  const options = mapSecrets(kind, sealed, (secret) => sealer.open(secret))
  // The options were checked against the kind's schema when they came in.
  return { kind, options } as unknown as FilesystemSpec
}
