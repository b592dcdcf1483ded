import { type Static, Type } from 'typebox'
import { form } from '../kit/forms.ts'
import { Count, model, Name, OneOf, strict, Text, Timestamp, Uuid } from '../kit/schemas.ts'

/** What a kind of rule looks at. */
export interface AlertKind {
  readonly meaning: string
  /** What an alert of it is about. */
  readonly object: string
  /** Whether that is always the same. */
  readonly isOnly?: boolean
  /** Set where that is a migration, which events may name: they name migrations anyway. */
  readonly migrationOf?: 'files' | 'metadata'
  /** What its threshold is, and the highest that makes sense; none when there is nothing to compare. */
  readonly threshold?: { readonly unit: string; readonly meaning: string; readonly maximum: number }
  /** Whether it is a share of what happened in a window. */
  readonly hasWindow?: boolean
}

const percent = 100
/** Keys live for ten years at most. */
const maxDays = 3_650
/** A month: whoever lags for longer is not live. */
const maxLagSeconds = 31 * 86_400

export const alertKinds = {
  'extension-lost': {
    meaning: 'An extension was lost without deregistering',
    object: 'prefix of the extension',
  },
  'error-rate': {
    meaning: 'Share of HTTP responses in the window with status 500 or above',
    object: 'http',
    isOnly: true,
    threshold: { unit: '%', meaning: 'percent, fires above this value', maximum: percent },
    hasWindow: true,
  },
  'storage-file': {
    meaning: 'Share of max_file in use by stored files',
    object: 'max_file',
    isOnly: true,
    threshold: { unit: '%', meaning: 'percent, fires at this value', maximum: percent },
  },
  'storage-memory': {
    meaning: 'Share of max_mem in use by streams in memory',
    object: 'max_mem',
    isOnly: true,
    threshold: { unit: '%', meaning: 'percent, fires at this value', maximum: percent },
  },
  'key-expiring': {
    meaning: 'An API key or agent key is about to expire',
    object: 'key id',
    threshold: {
      unit: 'days',
      meaning:
        'days before the key expires, fires within this time, but not before the last third of its lifetime',
      maximum: maxDays,
    },
  },
  'migration-failed': {
    meaning:
      'A migration was aborted, is blocked, waits for approval of deletions, or completed with paths that were not copied',
    object: 'migration name',
    migrationOf: 'files',
  },
  'migration-lagging': {
    meaning:
      'Lag of a live migration, even while it is stopped: the age of the oldest change that may not be at the target',
    object: 'migration name',
    migrationOf: 'files',
    threshold: {
      unit: 's',
      meaning:
        'seconds, fires above this value, or above this value plus the comparison period where source and target are compared',
      maximum: maxLagSeconds,
    },
  },
  'migration-differences': {
    meaning:
      'A verification of a migration found differences or paths that could not be read, and no later one of the same paths found none',
    object: 'migration name',
    migrationOf: 'files',
  },
  'metadata-migration-failed': {
    meaning:
      'A metadata migration has failed, is blocked, or has failed objects, conflicts, or drops that wait for approval',
    object: 'metadata migration name',
    migrationOf: 'metadata',
  },
  'metadata-migration-lagging': {
    meaning:
      'Lag of a metadata migration that follows its source: the age of the oldest change that may not be at the target',
    object: 'metadata migration name',
    migrationOf: 'metadata',
    threshold: {
      unit: 's',
      meaning:
        'seconds, fires above this value, or above this value plus the comparison period where source and target are compared',
      maximum: maxLagSeconds,
    },
  },
} as const satisfies Record<string, AlertKind>
export type AlertKindName = keyof typeof alertKinds

const kindNames = Object.keys(alertKinds) as AlertKindName[]
export const kindOf = (name: AlertKindName): AlertKind => alertKinds[name]

const kindMeanings = Object.fromEntries(kindNames.map((kind) => [kind, alertKinds[kind].meaning])) as Record<
  AlertKindName,
  string
>
const thresholdHelp = kindNames
  .flatMap((kind) => {
    const { threshold } = kindOf(kind)
    return threshold === undefined ? [] : [`${kind}: ${threshold.meaning}`]
  })
  .join('; ')

export const alertSeverities = ['warning', 'critical'] as const

/** Longest patience before an alert, and after: a day. */
const maxPatienceSeconds = 86_400
/** Metrics are kept in steps of ten seconds for an hour, and of a minute for a day. */
const windowSeconds = { minimum: 60, maximum: 86_400 }

export const ruleName = Name('Rule name')

/** What a rule is made of, beside its name. */
export const ruleFields = {
  kind: OneOf(kindMeanings),
  description: Text('Purpose of the rule'),
  enabled: Type.Boolean({ description: 'Whether the rule is evaluated' }),
  severity: Type.Enum([...alertSeverities], { description: 'How urgent the alerts of the rule are' }),
  object: Name('Limit the rule to this extension, key or migration'),
  threshold: Type.Number({ minimum: 0, maximum: maxLagSeconds, description: thresholdHelp }),
  windowSeconds: Type.Integer({
    ...windowSeconds,
    description: 'Seconds over which the share is measured; only for error-rate',
  }),
  forSeconds: Type.Integer({
    minimum: 0,
    maximum: maxPatienceSeconds,
    description: 'Seconds for which the condition must hold continuously before the alert fires',
  }),
  keepFiringForSeconds: Type.Integer({
    minimum: 0,
    maximum: maxPatienceSeconds,
    description: 'Seconds for which the condition must be over continuously before the alert is resolved',
  }),
}

export const AlertRule = model('AlertRule', {
  name: ruleName,
  ...ruleFields,
  object: Type.Optional(ruleFields.object),
  threshold: Type.Optional(ruleFields.threshold),
  windowSeconds: Type.Optional(ruleFields.windowSeconds),
  builtIn: Type.Boolean({
    description: 'Whether the rule is built in; deleting a built-in rule resets it to its defaults',
  }),
  warning: Type.Optional(Text('Problem of the rule, such as an object that does not exist')),
})
export type AlertRule = Static<typeof AlertRule>

export const alertStates = ['firing', 'resolved'] as const

export const alertFact = {
  id: Uuid('Alert id'),
  rule: ruleName,
  kind: ruleFields.kind,
  severity: ruleFields.severity,
  state: Type.Enum([...alertStates]),
}

/** What events say of an alert: less than its record, as more people may follow events than may see alerts. */
export const alertEventFields = {
  ...alertFact,
  migration: Type.Optional(Name('Migration or metadata migration that the alert is about')),
}

export const Alert = model('Alert', {
  ...alertFact,
  object: Name('Object of the alert, such as a migration name or key id, depending on the kind of the rule'),
  summary: Text('Description of the problem; for a resolved alert, of the past problem'),
  value: Type.Optional(
    Type.Number({ description: 'Value when the alert fired, in the unit of the threshold' }),
  ),
  threshold: Type.Optional(Type.Number({ description: 'Threshold of the rule when the alert fired' })),
  began: Timestamp('Time when the problem began'),
  fired: Timestamp('Time when the alert fired'),
  resolved: Type.Optional(Timestamp('Time when the alert was resolved')),
})
export type Alert = Static<typeof Alert>

/** Longest address; longer ones are cut by proxies. */
const maxUrlLength = 2_000

export const webhookName = Name('Webhook name')
export const webhookUrl = Type.String({
  maxLength: maxUrlLength,
  ...form('^https?://[^\\s@#]+$', 'an address that starts with https:// or http://, without credentials'),
  description:
    'Address of your receiver, such as https://alerts.example/gantry; alerts are sent there by POST',
})

/** As Standard Webhooks has it: 24 to 64 bytes. */
export const webhookSecret = Type.String({
  maxLength: 100,
  ...form(
    '^whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
    'whsec_ and 24 to 64 bytes in base64',
  ),
  description: 'Secret for signing messages, whsec_ and 24 to 64 bytes in base64 (generated if omitted)',
})

/** More rules than one receiver tells apart. */
export const maxWebhookRules = 100
/** More places than anybody wants to be told at. */
export const maxWebhooks = 50

const Attempt = strict({
  time: Timestamp('Time of the attempt'),
  problem: Type.Optional(Text('Reason for the failure')),
})

export const AlertWebhook = model('AlertWebhook', {
  name: webhookName,
  url: Type.String({
    maxLength: maxUrlLength,
    description: 'Address of the webhook; path and query are not shown, because they may contain secrets',
  }),
  enabled: Type.Boolean({ description: 'Whether alerts are sent' }),
  rules: Type.Optional(
    Type.Array(ruleName, { maxItems: maxWebhookRules, description: 'Send only alerts of these rules' }),
  ),
  waiting: Count('Number of messages that were not delivered yet'),
  lastSuccess: Type.Optional(Attempt),
  lastFailure: Type.Optional(Attempt),
})
export type AlertWebhook = Static<typeof AlertWebhook>
