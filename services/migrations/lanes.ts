import type { ChildBatch } from './engine/mover.ts'

/** What scanning finds and has copied; of a live migration also what changes, which must not wait for the scan. */
export const scanLanes = ['transfer', 'region'] as const
const changeLanes = ['update', 'change'] as const
export type Lane = (typeof scanLanes)[number] | (typeof changeLanes)[number]

/** Where goes what an item of a lane makes. */
export const childLanes = {
  region: { transfers: 'transfer', regions: 'region' },
  change: { transfers: 'update', regions: 'change' },
} as const satisfies Partial<Record<Lane, Record<keyof ChildBatch, Lane>>>

/** The lanes of a migration. */
export const lanesOf = (isLive: boolean): readonly Lane[] =>
  isLive ? [...scanLanes, ...changeLanes] : scanLanes

/** Items of a lane that are worked on at once. Two jobs a thread keep it busy while the answer to the last is on its way. */
export const slotsOf = (lane: Lane, threads: number): number => (lane === 'region' ? threads : 2 * threads)
