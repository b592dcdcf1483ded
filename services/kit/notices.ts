import type { EventEmitter } from 'node:events'
import type { RefusedConnection } from '../../broker/callout/auth-callout.ts'
import type { SlowReader } from '../../broker/callout/pending.ts'
import type { Violation } from '../../broker/callout/violations.ts'
import type { Flood } from '../../broker/limits/flood-guard.ts'
import type { Settings } from '../../subjects/access/settings.ts'

/**
 * What parts of one process tell each other, where whoever tells it must not know who listens. Listeners are called at
 * once: what is told has taken effect when `emit` returns.
 */
export type Notices = EventEmitter<{
  /** A connection was refused before the broker heard of it. */
  refusal: [RefusedConnection]
  /** Connections of a key were closed: it flooded the services, or did not read. */
  flood: [Flood]
  slowReader: [SlowReader]
  /** The broker did not let a key do something. */
  violation: [Violation]
  /** The settings as they are, at the start and after each change, before that is answered. */
  settings: [Settings]
  /** What the extension with this prefix brings has changed on this node, or it was lost, or is back. */
  extension: [prefix: string]
}>
