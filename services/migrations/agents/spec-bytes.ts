import { hash } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import type { MoveSpec } from '../engine/mover.ts'

/** What an agent is told of a migration: all but the limits, which are memory of a process. */
export type SentSpec = Omit<MoveSpec, 'limits'>

/** A spec as bytes: plain data with binary parts, as it is sent to threads too. Both sides are of the same release. */
export function bytesOfSpec({ limits: _limits, ...spec }: MoveSpec): Uint8Array {
  return serialize(spec)
}

/** @param bytes of `bytesOfSpec`, and known to be from the platform */
export const specOfBytes = (bytes: Uint8Array): SentSpec => deserialize(bytes) as SentSpec

/** Equal for equal specs. */
export const fingerprintOf = (spec: MoveSpec): string => hash('sha256', bytesOfSpec(spec), 'base64url')
