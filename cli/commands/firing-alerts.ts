import type { Output } from '../../subjects/kit/contract.ts'
import { product } from '../../subjects/kit/names.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import type { Session } from '../sign-in/session.ts'

type Alert = Output<(typeof alerts)['get']>

/** Alerts that fire, as they are told in a line. */
export interface Firing {
  readonly count: number
  /** What the worst of them says, and how many others there are; undefined where none fires. */
  readonly worst: (Pick<Alert, 'severity'> & { readonly text: string }) | undefined
}

/** What shows all that fire. */
export const firingFix = `run "${product} alerts list --state firing" for all`

/** @throws GantryError DENIED for a key that may not ask for alerts */
export async function firingAlerts(session: Session): Promise<Firing> {
  const firing = await session.call(alerts.list, { state: 'firing' })
  const [worst] = firing.toSorted(
    (one, other) => Number(other.severity === 'critical') - Number(one.severity === 'critical'),
  )
  if (worst === undefined) return { count: 0, worst }
  const others = firing.length === 1 ? '' : ` (and ${plural(firing.length - 1, 'other alert')})`
  return {
    count: firing.length,
    worst: { severity: worst.severity, text: `${worst.summary}${others}` },
  }
}
