import type { Driver, Place } from '../../drivers/contract/driver.ts'
import { isLeftOut, type LeavesOut } from './left-out.ts'
import { linksOf, type MetadataSettings } from './metadata.ts'

/** What of a migration says where its source is. */
interface Sourced extends Pick<MetadataSettings, 'links'> {
  readonly root: Uint8Array
  readonly rules?: LeavesOut['packed']
}

/**
 * Where a source is, if something else can take its place. Where links are followed, they lead to all of its store, and to
 * what a rule leaves out elsewhere.
 */
export function sourcePlace({ places }: Pick<Driver, 'places'>, spec: Sourced): Place | undefined {
  if (places === undefined) return undefined
  const root = Buffer.from(spec.root)
  const isWhole = linksOf(spec) === 'follow'
  const { rules: packed } = spec
  const leavesOut =
    packed === undefined || isWhole
      ? undefined
      : { key: packed.key, isLeftOut: (path: Buffer) => isLeftOut({ packed, root }, path) }
  return places.asSource({ root, isWhole, leavesOut })
}

/** Whether the place of a source asks the rules. */
export const asksRules = (spec: Sourced): boolean => spec.rules !== undefined && linksOf(spec) !== 'follow'
