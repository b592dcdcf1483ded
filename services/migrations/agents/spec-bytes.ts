import { hash } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import type { MoveSpec } from '../engine/mover.ts'
import type { Witness } from './same-folder.ts'

/** What an agent is told of a migration: all but the limits, which are memory of a process. */
export interface SentMigration {
  readonly spec: Omit<MoveSpec, 'limits'>
  /** Of each folder of a host that a store is. */
  readonly folders: readonly { readonly path: string; readonly witness: Witness }[]
}

/** Plain data with binary parts as bytes, as it is sent to threads too. Both sides are of the same release. */
export const bytesOfMigration = (sent: SentMigration): Uint8Array => serialize(sent)

/** @param bytes of `bytesOfMigration`, and known to be from the platform */
export const migrationOfBytes = (bytes: Uint8Array): SentMigration => deserialize(bytes) as SentMigration

/** What of a spec an agent may know of. */
export const sentSpec = ({ limits: _limits, ...spec }: MoveSpec): SentMigration['spec'] => spec

/** Equal for equal specs. */
export const fingerprintOf = (spec: MoveSpec): string =>
  hash('sha256', serialize(sentSpec(spec)), 'base64url')
