import { type Static, Type } from 'typebox'
import { form } from '../kit/forms.ts'
import { Count, model, Name, strict, Text, Timestamp, Uuid } from '../kit/schemas.ts'

/** What a kind of rule looks at. */
export interface AlertKind {
  readonly meaning: string
  /** What an alert of it is about. */
  readonly object: string
  /** What its threshold is, and the highest that makes sense; none when there is nothing to compare. */
  readonly threshold?: { readonly unit: string; readonly meaning: string; readonly maximum: number }
}

const percent = 100
/** Keys live for ten years at most. */
const maxDays = 3_650
/** A month: whoever lags for longer is not live. */
const maxLagSeconds = 31 * 86_400

export const alertKinds = {
  'extension-lost': {
    meaning: 'An extension is gone that did not say goodbye',
    object: 'prefix of the extension',
  },
  'error-rate': {
    meaning: 'Answers over HTTP with a status of 500 and above, as a share of all in the window',
    object: 'http',
    threshold: { unit: '%', meaning: 'per cent, fires above', maximum: percent },
  },
  'storage-file': {
    meaning: 'What the platform stores in files, as a share of max_file',
    object: 'max_file',
    threshold: { unit: '%', meaning: 'per cent, fires at', maximum: percent },
  },
  'storage-memory': {
    meaning: 'What the platform stores in memory, as a share of max_mem',
    object: 'max_mem',
    threshold: { unit: '%', meaning: 'per cent, fires at', maximum: percent },
  },
  'key-expiring': {
    meaning: 'An API key or the key of an agent is about to expire',
    object: 'id of the key',
    threshold: { unit: 'days', meaning: 'days before its end, fires within', maximum: maxDays },
  },
  'migration-failed': {
    meaning: 'A migration was aborted, is blocked, or completed with paths that were not copied',
    object: 'name of the migration',
  },
  'migration-lagging': {
    meaning:
      'How long a change at the source of a live migration may have waited to be at the target, also while it is stopped',
    object: 'name of the migration',
    threshold: {
      unit: 's',
      meaning: 'seconds, fires above; where source and target are compared, above that and the period',
      maximum: maxLagSeconds,
    },
  },
} as const satisfies Record<string, AlertKind>
export type AlertKindName = keyof typeof alertKinds

const kindNames = Object.keys(alertKinds) as AlertKindName[]
export const kindOf = (name: AlertKindName): AlertKind => alertKinds[name]

const kindHelp = kindNames.map((kind) => `${kind}: ${alertKinds[kind].meaning}`).join('; ')
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

export const ruleName = Name('Name of the rule')

/** What a rule is made of, beside its name. */
export const ruleFields = {
  kind: Type.Enum(kindNames, { description: kindHelp }),
  description: Text('What it is for'),
  enabled: Type.Boolean({ description: 'Whether it is looked at' }),
  severity: Type.Enum([...alertSeverities]),
  object: Name('Only this extension, key or migration'),
  threshold: Type.Number({ minimum: 0, maximum: maxLagSeconds, description: thresholdHelp }),
  windowSeconds: Type.Integer({ ...windowSeconds, description: 'error-rate: how far it looks back' }),
  forSeconds: Type.Integer({
    minimum: 0,
    maximum: maxPatienceSeconds,
    description: 'How long it must be so without a break before it fires',
  }),
  keepFiringForSeconds: Type.Integer({
    minimum: 0,
    maximum: maxPatienceSeconds,
    description: 'How long it must be over without a break before it is resolved',
  }),
}

export const AlertRule = model('AlertRule', {
  name: ruleName,
  ...ruleFields,
  object: Type.Optional(ruleFields.object),
  threshold: Type.Optional(ruleFields.threshold),
  windowSeconds: Type.Optional(ruleFields.windowSeconds),
  builtIn: Type.Boolean({ description: 'Comes with the platform: deleted, it is again what it was' }),
})
export type AlertRule = Static<typeof AlertRule>

export const alertStates = ['firing', 'resolved'] as const

/** What events say of an alert: less than its record, as more people may follow events than may see alerts. */
export const alertFact = {
  id: Uuid('Id of the alert'),
  rule: ruleName,
  kind: ruleFields.kind,
  severity: ruleFields.severity,
  state: Type.Enum([...alertStates]),
}

export const Alert = model('Alert', {
  ...alertFact,
  object: Name('What it is about; which, the kind of the rule says'),
  summary: Text('What is wrong, for a person; of a resolved one what was wrong'),
  value: Type.Optional(Type.Number({ description: 'In the unit of the threshold, when it was last so' })),
  threshold: Type.Optional(Type.Number({ description: 'That of the rule, when it fired' })),
  began: Timestamp('Since when it was so'),
  fired: Timestamp('When it fired'),
  resolved: Type.Optional(Timestamp('When it was resolved')),
})
export type Alert = Static<typeof Alert>

/** Longest address; longer ones are cut by proxies. */
const maxUrlLength = 2_000

export const webhookName = Name('Name of the webhook')
export const webhookUrl = Type.String({
  maxLength: maxUrlLength,
  ...form('^https?://[^\\s@#]+$', 'an address that begins with https:// or http://, without credentials'),
  description: 'Where alerts are sent to, by POST',
})

/** As Standard Webhooks has it: 24 to 64 bytes. */
export const webhookSecret = Type.String({
  maxLength: 100,
  ...form(
    '^whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
    'whsec_ and 24 to 64 bytes in base64',
  ),
  description: 'Secret that signs what is sent; default: a generated one',
})

/** More rules than one receiver tells apart. */
export const maxWebhookRules = 100
/** More places than anybody wants to be told at. */
export const maxWebhooks = 50

const Attempt = strict({
  time: Timestamp('When'),
  problem: Type.Optional(Text('Why it was not taken')),
})

export const AlertWebhook = model('AlertWebhook', {
  name: webhookName,
  url: Type.String({
    maxLength: maxUrlLength,
    description: 'Where it is sent to; path and query may be secret, and are not shown',
  }),
  enabled: Type.Boolean({ description: 'Whether anything is sent' }),
  rules: Type.Optional(
    Type.Array(ruleName, { maxItems: maxWebhookRules, description: 'Only alerts of these rules' }),
  ),
  waiting: Count('Messages that were not taken yet'),
  lastSuccess: Type.Optional(Attempt),
  lastFailure: Type.Optional(Attempt),
})
export type AlertWebhook = Static<typeof AlertWebhook>
