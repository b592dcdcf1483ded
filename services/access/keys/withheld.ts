import { contracts } from '../../../subjects/index.ts'

/** Subjects that a token which a rotation has replaced may not publish to. */
export const withheldFromReplaced: readonly string[] = contracts
  .filter(({ lasting }) => lasting === true)
  .map(({ subject }) => subject)
