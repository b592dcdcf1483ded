import { isWithin } from '../paths/path-text.ts'

/** A folder and all that is in it, of one store. */
export interface Area {
  /** The store: the number of the device of a file system, or a name; empty where nobody tells. Equal for equal stores. */
  readonly device: string
  /** From the root of that store, without a slash at its beginning. */
  readonly path: Buffer
}

/**
 * Where something is, whatever leads to it: a part of a file system can be mounted at several places (`mount --bind`), and
 * then a name says nothing about what lies in what.
 */
export interface Location<A extends Area = Area> {
  readonly own: A
  /** What is mounted somewhere in it. */
  readonly mounted: readonly A[]
}

/** Whether one of two places is the other, or has it in it. */
export const holds = (place: Location, other: Location): boolean =>
  areasOf(place).some((area) => isIn(area, other.own))

/** Everything that can be reached below a place: its own store, and what is mounted in it. */
export const areasOf = <A extends Area>({ own, mounted }: Location<A>): readonly A[] => [own, ...mounted]

/** Whether one of two areas is the other, or has it in it. */
export const isIn = (area: Area, other: Area): boolean =>
  area.device === other.device && isWithin(area.path, other.path)
