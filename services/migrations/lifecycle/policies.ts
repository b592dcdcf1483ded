import {
  type ActionPolicy,
  actionPolicies,
  actionPolicyNames,
} from '../../../subjects/migrations/model/terms.ts'

/** A policy by its own name or by that of the existing product; undefined for none. */
export const policyOf = (name: string | undefined): ActionPolicy | undefined =>
  actionPolicyNames.find((short) => name === short || name === actionPolicies[short])
