import type { ChildBatch } from '../../engine/mover.ts'

/** What scanning finds and has copied: lanes whose items make others, or something in a folder. */
const movingLanes = ['transfer', 'region'] as const
/** What is done when nothing is left in those. */
export const lastLane = 'folders'
/** Of a live migration: what changes must not wait for the scan. */
const changeLanes = ['update', 'change'] as const

export const scanLanes = [...movingLanes, lastLane] as const
export type Lane = (typeof scanLanes)[number] | (typeof changeLanes)[number]

/** Where goes what an item makes. */
export type ChildLanes = Readonly<Record<keyof ChildBatch, Lane>>

/** The same by the item's lane. */
export const childLanes = {
  region: { transfers: 'transfer', regions: 'region', folders: lastLane },
  change: { transfers: 'update', regions: 'change', folders: lastLane },
} as const satisfies Partial<Record<Lane, ChildLanes>>

/** The lanes of a migration, the last one of a scan left out where it is worked on only when the others are empty. */
export const lanesOf = (isLive: boolean): readonly Lane[] =>
  isLive ? [...scanLanes, ...changeLanes] : scanLanes

/** Lanes that are worked on from the beginning. */
export const firstLanesOf = (isLive: boolean): readonly Lane[] =>
  isLive ? [...movingLanes, ...changeLanes] : movingLanes

/** Whether something is left that may move the times of folders. */
export const isMoving = (waiting: ReadonlyMap<string, number>): boolean =>
  movingLanes.some((lane) => waiting.has(lane))

/** Items of a lane that are worked on at once. Two jobs a thread keep it busy while the answer to the last is on its way. */
export const slotsOf = (lane: Lane, threads: number): number =>
  lane === 'region' || lane === lastLane ? threads : 2 * threads
