import type { MigrationRecord } from '../lifecycle/record.ts'
import { lossText } from '../progress/proof.ts'

/** More of them say no more. */
const maxShown = 5

/** Whether the broker has all work items of the migrations; until what it has lost is found again. */
export function workHealth(records: Iterable<MigrationRecord>) {
  const name = 'work'
  const lost = [...records].flatMap(({ migrationId, lost: loss }) =>
    loss === undefined ? [] : [`${migrationId}: ${lossText(loss)}`],
  )
  if (lost.length === 0) return { name, healthy: true }
  const shown = lost.slice(0, maxShown).join('; ') + (lost.length > maxShown ? '; …' : '')
  const message = `The broker’s store was damaged: check its disk. ${shown}. Missing work is found by scanning or comparing again.`
  return { name, healthy: false, message }
}
