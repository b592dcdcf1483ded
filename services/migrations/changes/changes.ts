/** What tells a live migration of changes at its source: it puts the folders in which something changed into the queue. */
export interface Changes {
  /** Begins; resolves when no later change is missed, so that a scan that begins then finds all that is older. */
  start(signal: AbortSignal): Promise<void>
  /** Age of the oldest change that is not at the target yet, in seconds; 0 when there is none. */
  lag(): number
}
