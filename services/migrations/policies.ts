import { type ActionPolicy, actionPolicies } from '../../subjects/migration-model.ts'

/** A policy by its own name or by that of the existing product; undefined for none. */
export const policyOf = (name: string | undefined): ActionPolicy | undefined =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are all the keys that the type has
  (Object.keys(actionPolicies) as ActionPolicy[]).find(
    (short) => name === short || name === actionPolicies[short],
  )
