import type { Sealer } from './seal.ts'

/** By name, of something that is stored with its secrets sealed. */
export type Options = Readonly<Record<string, unknown>>

/** Shown in place of a secret; its length says nothing about that of the secret. */
const mask = '********'

function mapSecrets(secrets: readonly string[], options: Options, change: (secret: string) => string) {
  const entries = Object.entries(options).map(([name, value]) => [
    name,
    secrets.includes(name) && typeof value === 'string' ? change(value) : value,
  ])
  return Object.fromEntries(entries) as Record<string, unknown>
}

/** Options for storage. @param secrets names of those that are sealed */
export const sealOptions = (secrets: readonly string[], options: Options, sealer: Sealer) =>
  mapSecrets(secrets, options, (secret) => sealer.seal(secret))

/** Options for replies. */
export const maskOptions = (secrets: readonly string[], options: Options) =>
  mapSecrets(secrets, options, () => mask)

/** Options for use, secrets in the clear: never stored, logged or answered. */
export const openOptions = (secrets: readonly string[], sealed: Options, sealer: Sealer) =>
  mapSecrets(secrets, sealed, (secret) => sealer.open(secret))
