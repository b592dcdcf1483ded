import { createHash, randomUUID } from 'node:crypto'
import type { TableName } from './contract/catalog.ts'

/** Tables whose partitions are being added have names that begin so: they are no part of what a catalog has. */
const prefix = 'gantry_hidden_'

/** Parameter of such a table that says whose it is: the internal id of the migration that makes it. */
export const hiddenParameter = 'gantry.hidden'
/** Instead of an id, of a table that is about to be dropped: whoever finds it drops it. */
export const beingDropped = 'being dropped'

/** By which name a table is made until all of its partitions are added; the same for whoever goes on with it. */
export const hiddenNameOf = ({ database, name }: TableName): TableName => ({
  database,
  name: `${prefix}${createHash('sha256')
    .update(JSON.stringify([database, name]))
    .digest('hex')
    .slice(0, 32)}`,
})

/** One that no table has had, for a table that is about to be dropped. */
export const newHiddenName = (): string => `${prefix}${randomUUID().replaceAll('-', '')}`

export const isHiddenName = (name: string): boolean => name.toLowerCase().startsWith(prefix)
