import { Type } from 'typebox'
import {
  Alert,
  alertFact,
  AlertRule,
  alertStates,
  AlertWebhook,
  maxWebhookRules,
  maxWebhooks,
  ruleFields,
  ruleName,
  webhookName,
  webhookSecret,
  webhookUrl,
} from './alert-model.ts'
import { events, resource } from '../kit/contract.ts'
import { Count, list, Nothing, page, strict, Text } from '../kit/schemas.ts'

/** Resolved alerts that are kept, the newest: what happened in the last weeks, even if every day is bad. */
export const maxResolved = 1_000
/** Rules of one's own: each is looked at again and again. */
export const maxAlertRules = 200

/** The receiver's patience, ours to the broker, and a look at its name. */
const deliveryDeadlineMs = 20_000

const alertPath = '/api/v1/admin/alerts'
const rulePath = '/api/v1/admin/alert-rules'
const webhookPath = '/api/v1/admin/alert-webhooks'

const optional = {
  kind: Type.Optional(ruleFields.kind),
  description: Type.Optional(ruleFields.description),
  enabled: Type.Optional(ruleFields.enabled),
  severity: Type.Optional(ruleFields.severity),
  object: Type.Optional(ruleFields.object),
  threshold: Type.Optional(ruleFields.threshold),
  windowSeconds: Type.Optional(ruleFields.windowSeconds),
  forSeconds: Type.Optional(ruleFields.forSeconds),
  keepFiringForSeconds: Type.Optional(ruleFields.keepFiringForSeconds),
}

/** What is wrong, by rules, told to webhooks. For administrators: alerts name everybody's extensions and keys. */
export const alerts = resource('alerts', {
  list: {
    summary: 'Alerts, the newest first',
    description: `All that are firing, and the last ${maxResolved} that are resolved.`,
    input: strict({
      state: Type.Optional(Type.Enum([...alertStates], { description: 'Only these; default all' })),
      rule: Type.Optional(ruleName),
      ...page,
    }),
    output: list(Alert),
    errors: [],
    http: [{ method: 'GET', path: alertPath }],
    cli: {
      columns: ['fired', 'state', 'severity', 'rule', 'summary', 'resolved'],
      example: 'gantry alerts list --state firing',
    },
  },
  get: {
    summary: 'One alert',
    input: strict({ id: alertFact.id }),
    output: Alert,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: `${alertPath}/{id}` }],
    cli: { args: ['id'] },
  },
  rules: {
    summary: 'The rules that alerts are made by',
    input: strict(page),
    output: list(AlertRule),
    errors: [],
    http: [{ method: 'GET', path: rulePath }],
    cli: {
      columns: ['name', 'kind', 'enabled', 'severity', 'object', 'threshold', 'forSeconds', 'builtIn'],
    },
  },
  'put-rule': {
    summary: 'Make a rule, or change one',
    description:
      'What is not given stays; a new rule begins as the built-in one of its kind, and needs the kind. The kind of a rule does not change.',
    input: strict({ name: ruleName, ...optional }),
    output: AlertRule,
    errors: ['NOT_ALLOWED_IN_STATE'],
    audit: { object: 'name' },
    lasting: true,
    http: [{ method: 'PUT', path: `${rulePath}/{name}` }],
    cli: {
      args: ['name'],
      example: 'gantry alerts put-rule storage-full --kind storage-file --threshold 95 --severity critical',
    },
  },
  'delete-rule': {
    summary: 'Forget a rule; a built-in one is again what it was',
    description: 'Its alerts are resolved.',
    input: strict({ name: ruleName }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    lasting: true,
    http: [{ method: 'DELETE', path: `${rulePath}/{name}` }],
    cli: { args: ['name'] },
  },
  webhooks: {
    summary: 'Where alerts are sent to',
    input: strict({}),
    output: list(AlertWebhook, maxWebhooks),
    errors: [],
    http: [{ method: 'GET', path: webhookPath }],
    cli: { columns: ['name', 'url', 'enabled', 'rules', 'waiting', 'lastSuccess', 'lastFailure'] },
  },
  'put-webhook': {
    summary:
      'Have alerts sent to an address, or change how; a secret that is made is in this reply and never again',
    description:
      'What is not given stays; an empty list of rules stands for all. Messages are signed as Standard Webhooks has it (webhook-id, webhook-timestamp, webhook-signature), redirections are not followed, and hosts of inner networks are refused unless alerts.webhook_hosts in gantry.config names them.',
    input: strict({
      name: webhookName,
      url: Type.Optional(webhookUrl),
      secret: Type.Optional(webhookSecret),
      enabled: Type.Optional(Type.Boolean({ description: 'Whether anything is sent; default true' })),
      rules: Type.Optional(
        Type.Array(ruleName, { maxItems: maxWebhookRules, description: 'Only alerts of these rules' }),
      ),
    }),
    output: strict({ ...AlertWebhook.properties, secret: Type.Optional(webhookSecret) }),
    errors: ['NOT_ALLOWED_IN_STATE'],
    audit: { object: 'name' },
    lasting: true,
    http: [{ method: 'PUT', path: `${webhookPath}/{name}` }],
    cli: {
      args: ['name'],
      secrets: ['secret'],
      example: 'gantry alerts put-webhook pager --url https://alerts.example/gantry',
    },
  },
  'delete-webhook': {
    summary: 'Send no more alerts to an address, nor those that wait',
    input: strict({ name: webhookName }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    lasting: true,
    http: [{ method: 'DELETE', path: `${webhookPath}/{name}` }],
    cli: { args: ['name'] },
  },
  'test-webhook': {
    summary: 'Send a message for a trial, once, and say what came of it',
    input: strict({ name: webhookName }),
    output: strict({
      delivered: Type.Boolean({ description: 'Whether it was taken' }),
      problem: Type.Optional(Text('Why not')),
      elapsedMs: Count('How long it took'),
    }),
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    http: [{ method: 'POST', path: `${webhookPath}/{name}/test`, query: [] }],
    cli: { args: ['name'], example: 'gantry alerts test-webhook pager' },
    deadlineMs: deliveryDeadlineMs,
  },
})

export const alertEvents = events('alerts', {
  fired: { summary: 'A rule has fired', payload: strict(alertFact) },
  resolved: { summary: 'What a rule had fired for is over', payload: strict(alertFact) },
})
