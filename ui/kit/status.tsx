import type { CSSProperties } from 'react'
import { errors } from '../../subjects/kit/errors.ts'
import { brokenReasons, type ConditionReason } from '../../subjects/migrations/model/condition-terms.ts'
import type { Condition } from '../../subjects/migrations/model/conditions.ts'
import { wordsOf } from './format.ts'

const good = [
  'ok',
  'COMPLETED',
  'COMPLETE',
  'healthy',
  'passed',
  'arrived',
  'resolved',
  'CONNECTED',
  'SUCCESS',
  'MIGRATED',
]
const going = ['RUNNING', 'LIVE', 'IN_PROGRESS', 'info']
const waiting = [
  'SCHEDULED',
  'QUEUED',
  'RECURRENCE_SCHEDULED',
  'WAITING_FOR_NEXT_RECURRENCE',
  'waiting',
  'PAUSED',
]
const bad = [
  'FAILED',
  'failed',
  'not healthy',
  'degraded',
  'firing',
  'critical',
  'error',
  'DISCONNECTED',
  'NOT_VALID',
  'revoked',
  ...Object.keys(errors),
  'conflict',
]
const warning = ['STOPPING', 'warning', 'warn', 'held', 'leaves out nothing']

const colours = new Map(
  (
    [
      ['green', good],
      ['blue', going],
      ['cyan', waiting],
      ['red', bad],
      ['yellow', warning],
    ] as const
  ).flatMap(([colour, states]) => states.map((state) => [state, colour])),
)

/** Of a state, among those of the theme; states that ask for the same share one. */
export const colourOf = (state: string): string => colours.get(state) ?? 'gray'

/**
 * A state in words; its colour says no more than the words do.
 * @param but what keeps a state that sounds good from being so
 */
export const Status = ({ of, but }: { readonly of: string; readonly but?: string | undefined }) => (
  <span
    className="status"
    style={
      {
        '--status': `var(--mantine-color-${but === undefined ? colourOf(of) : 'yellow'}-light)`,
      } as CSSProperties
    }
  >
    {but === undefined ? wordsOf(of) : `${wordsOf(of)} ${but}`}
  </span>
)

/** Nothing moves: what is broken, and what waits for somebody. */
const blocking: readonly ConditionReason[] = [
  ...brokenReasons,
  'WAITS_FOR_APPROVAL',
  'WAITS_FOR_AGENT',
  'WAITS_FOR_STORAGE',
]

/** Whether something keeps a migration from moving, whatever its state. */
export const isBlocked = ({ conditions }: { readonly conditions: readonly Pick<Condition, 'reason'>[] }) =>
  conditions.some(({ reason }) => blocking.includes(reason))

/**
 * The state of a migration: one that is completed may have left paths behind, or differ from its source, and one that is live
 * may stand still.
 */
export const MigrationStatus = ({
  of: { state, failedPathCount, conditions },
  differs,
}: {
  /** What its last verification found differences in: the target as it is, or as it was before the last run. */
  readonly differs?: 'now' | 'before the last run' | undefined
  readonly of: {
    readonly state: string
    readonly failedPathCount: number
    readonly conditions: readonly Pick<Condition, 'reason'>[]
  }
}) => {
  const but = isBlocked({ conditions })
    ? 'but blocked'
    : state === 'COMPLETED' && failedPathCount > 0
      ? 'with failures'
      : state === 'COMPLETED' && differs !== undefined
        ? `with differences${differs === 'now' ? '' : ` ${differs}`}`
        : undefined
  return <Status of={state} but={but} />
}
