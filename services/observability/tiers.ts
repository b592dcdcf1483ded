/** How finely values are kept, and for how long: a ring of blocks for each. */
export interface Tier {
  readonly seconds: number
  /** Blocks of `slotsPerBlock` slots, the one that is being filled among them. */
  readonly blocks: number
  /** Whether it outlives the process. */
  readonly isStored: boolean
}

/** Slots in a block, which is what is stored at once: small enough to be written every minute while it is filled. */
export const slotsPerBlock = 60

/**
 * 10 s for an hour, minutes for a day, ten minutes for 200 hours: a week, and the block of now. What is finer than a minute
 * is worth no writing.
 */
export const tiers = [
  { seconds: 10, blocks: 7, isStored: false },
  { seconds: 60, blocks: 25, isStored: true },
  { seconds: 600, blocks: 21, isStored: true },
] as const satisfies readonly Tier[]

export const blockMs = ({ seconds }: Tier): number => seconds * slotsPerBlock * 1_000
/** How far back all that was reported is there. */
export const reachMs = (tier: Tier): number => (tier.blocks - 1) * blockMs(tier)
