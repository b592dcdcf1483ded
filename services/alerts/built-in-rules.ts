import { type AlertKindName, type AlertRule, kindOf } from '../../subjects/observability/alert-model.ts'
import { notAccepted } from '../../subjects/kit/errors.ts'
import type { StoredRule } from './record.ts'

/** Longer than a restart of an extension, or of the platform, takes. */
const restartSeconds = 60
/** A rate jumps with every burst. */
const steadySeconds = 120

const rule = (kind: AlertKindName, more: Partial<StoredRule> & Pick<StoredRule, 'name' | 'description'>) => ({
  kind,
  enabled: true,
  severity: 'warning' as const,
  forSeconds: 0,
  keepFiringForSeconds: 0,
  ...more,
})

/** The rules that every platform has, until somebody changes them. */
export const builtInRules: readonly StoredRule[] = [
  rule('extension-lost', {
    name: 'extension-lost',
    description: 'An extension was lost and has not reconnected',
    severity: 'critical',
    forSeconds: restartSeconds,
  }),
  rule('error-rate', {
    name: 'error-rate',
    description: 'The platform returns many server errors',
    severity: 'critical',
    threshold: 5,
    windowSeconds: 300,
    forSeconds: steadySeconds,
    keepFiringForSeconds: steadySeconds,
  }),
  rule('storage-file', {
    name: 'storage-file',
    description:
      'The storage is almost full, and changes will be refused: raise max_file in messaging.config',
    threshold: 80,
    keepFiringForSeconds: steadySeconds,
  }),
  rule('storage-memory', {
    name: 'storage-memory',
    description: 'The memory for streams is almost full: raise max_mem in messaging.config',
    threshold: 80,
    keepFiringForSeconds: steadySeconds,
  }),
  rule('key-expiring', {
    name: 'key-expiring',
    description:
      'An API key expires soon (within the threshold, and in the last third of its lifetime): replace it',
    threshold: 14,
  }),
  rule('migration-failed', {
    name: 'migration-failed',
    description: 'A migration requires attention',
    severity: 'critical',
    forSeconds: restartSeconds,
    keepFiringForSeconds: restartSeconds,
  }),
  rule('migration-lagging', {
    name: 'migration-lagging',
    description: 'A live migration falls behind its source',
    threshold: 600,
    forSeconds: steadySeconds,
    keepFiringForSeconds: steadySeconds,
  }),
  rule('migration-differences', {
    name: 'migration-differences',
    description: 'A verification of a migration did not find the target equal to the source',
  }),
  rule('metadata-migration-failed', {
    name: 'metadata-migration-failed',
    description: 'A metadata migration requires attention',
    severity: 'critical',
    forSeconds: restartSeconds,
    keepFiringForSeconds: restartSeconds,
  }),
  rule('metadata-migration-lagging', {
    name: 'metadata-migration-lagging',
    description: 'A metadata migration falls behind its source',
    threshold: 600,
    forSeconds: steadySeconds,
    keepFiringForSeconds: steadySeconds,
  }),
]

export const builtInRule = (name: string): StoredRule | undefined =>
  builtInRules.find((one) => one.name === name)

/** What a new rule of a kind is, as far as nobody says otherwise: as the built-in one. */
export function usualOf(kind: AlertKindName): Omit<StoredRule, 'name' | 'description'> {
  const { name: _name, description: _description, ...usual } = builtInRules.find((one) => one.kind === kind)!
  return usual
}

/**
 * Whether the fields of a rule make sense together.
 * @throws GantryError NOT_ACCEPTED that names the field
 */
export function checkRule({ kind, object, threshold, windowSeconds }: StoredRule): void {
  const { threshold: known, object: only, isOnly = false, hasWindow = false } = kindOf(kind)
  if (isOnly && object !== undefined && object !== only)
    throw notAccepted('object', `must be ${only} for ${kind}, or left out`)
  if (known === undefined && threshold !== undefined)
    throw notAccepted('threshold', `does not apply to ${kind}: remove it`)
  if (known !== undefined && threshold !== undefined && threshold > known.maximum)
    throw notAccepted('threshold', `must be at most ${known.maximum} ${known.unit} for ${kind}`)
  if (!hasWindow && windowSeconds !== undefined)
    throw notAccepted('windowSeconds', `applies only to error-rate, not to ${kind}: remove it`)
}

export const publicRule = ({ name, ...rest }: StoredRule, warning: string | undefined): AlertRule => ({
  name,
  ...rest,
  builtIn: builtInRule(name) !== undefined,
  ...(warning === undefined ? {} : { warning }),
})
