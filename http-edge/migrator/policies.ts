import { Type } from 'typebox'
import { type ActionPolicy, actionPolicyNames } from '../../subjects/migrations/model/terms.ts'

/** What the surface calls two of the policies; the others it does not have, and they keep our names. */
const wireNames: Readonly<Partial<Record<ActionPolicy, string>>> = {
  Overwrite: 'com.wandisco.livemigrator2.migration.OverwriteActionPolicy',
  SkipIfSizeMatch: 'com.wandisco.livemigrator2.migration.SkipIfSizeMatchActionPolicy',
}

export const wirePolicyOf = (policy: ActionPolicy): string => wireNames[policy] ?? policy

/** A policy by the name of the surface or by ours; any other text stays, so that it is refused. */
export const policyOf = (name: unknown): unknown =>
  actionPolicyNames.find((policy) => name === policy || name === wireNames[policy]) ?? name

export const ActionPolicyField = Type.Optional(
  Type.Enum([...actionPolicyNames, ...Object.values(wireNames)], {
    description:
      'Action for files that already exist at the target; default: Overwrite, or the current policy',
  }),
)

export const ActionPolicyView = Type.Enum(actionPolicyNames.map(wirePolicyOf), {
  description: 'Action for files that already exist at the target',
})
