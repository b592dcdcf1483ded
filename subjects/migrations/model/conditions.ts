import { type Static, Type } from 'typebox'
import { type ConditionReason, conditionReasonNames, conditionReasons } from './condition-terms.ts'
import { list, model, Text, Timestamp } from '../../kit/schemas.ts'

const help = (Object.keys(conditionReasons) as ConditionReason[])
  .map((reason) => `${reason}: ${conditionReasons[reason]}`)
  .join('; ')

export const Condition = model('MigrationCondition', {
  reason: Type.Enum(conditionReasonNames, { description: help }),
  message: Text('The condition in words, with the most recent message'),
  since: Timestamp('Time at which the condition began'),
})
export type Condition = Static<typeof Condition>

/** Why a migration does not move, or not as it could; empty when nothing is in its way. */
export const conditions = list(Condition, conditionReasonNames.length)
