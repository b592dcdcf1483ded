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
    description: 'An extension is gone, and does not come back by itself',
    severity: 'critical',
    forSeconds: restartSeconds,
  }),
  rule('error-rate', {
    name: 'error-rate',
    description: 'The platform fails often',
    severity: 'critical',
    threshold: 5,
    windowSeconds: 300,
    forSeconds: steadySeconds,
    keepFiringForSeconds: steadySeconds,
  }),
  rule('storage-file', {
    name: 'storage-file',
    description: 'The storage will be full, and changes refused: raise max_file in messaging.config',
    threshold: 80,
    keepFiringForSeconds: steadySeconds,
  }),
  rule('storage-memory', {
    name: 'storage-memory',
    description: 'The memory for streams will be full: raise max_mem in messaging.config',
    threshold: 80,
    keepFiringForSeconds: steadySeconds,
  }),
  rule('key-expiring', {
    name: 'key-expiring',
    description: 'Whoever uses the key needs another soon',
    threshold: 14,
  }),
  rule('migration-failed', {
    name: 'migration-failed',
    description: 'A migration needs somebody to look at it',
    severity: 'critical',
    forSeconds: restartSeconds,
    keepFiringForSeconds: restartSeconds,
  }),
  rule('migration-lagging', {
    name: 'migration-lagging',
    description: 'A live migration does not keep up with its source',
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
export function checkRule({ kind, threshold, windowSeconds }: StoredRule): void {
  const known = kindOf(kind).threshold
  if (known === undefined && threshold !== undefined)
    throw notAccepted('threshold', `is not for ${kind}, which has nothing to compare: leave it out`)
  if (known !== undefined && threshold !== undefined && threshold > known.maximum)
    throw notAccepted('threshold', `must be at most ${known.maximum} ${known.unit} for ${kind}`)
  if (kind !== 'error-rate' && windowSeconds !== undefined)
    throw notAccepted('windowSeconds', `is for error-rate alone, not for ${kind}: leave it out`)
}

export const publicRule = (rule: StoredRule): AlertRule => ({
  ...rule,
  builtIn: builtInRule(rule.name) !== undefined,
})
