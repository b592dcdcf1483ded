import { Type } from 'typebox'
import {
  Alert,
  alertEventFields,
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
import { Count, list, Nothing, page, strict, Switch, Text } from '../kit/schemas.ts'

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
    summary: 'List alerts, newest first',
    description: `Returns all firing alerts and the last ${maxResolved} resolved ones.`,
    input: strict({
      state: Type.Optional(
        Type.Enum([...alertStates], { description: 'Return only alerts in this state; default all' }),
      ),
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
    summary: 'Show an alert',
    input: strict({ id: alertFact.id }),
    output: Alert,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: `${alertPath}/{id}` }],
    cli: { args: ['id'] },
  },
  rules: {
    summary: 'List alert rules',
    input: strict(page),
    output: list(AlertRule),
    errors: [],
    http: [{ method: 'GET', path: rulePath }],
    cli: {
      columns: [
        'name',
        'kind',
        'enabled',
        'severity',
        'object',
        'threshold',
        'forSeconds',
        'builtIn',
        'warning',
      ],
    },
  },
  'put-rule': {
    summary: 'Create or change an alert rule',
    description:
      'Fields that are not given stay unchanged. A new rule requires `kind` and starts with the values of the built-in rule of that kind. The kind of a rule cannot be changed. `warning` in the reply says that the object does not exist.',
    input: strict({ name: ruleName, ...optional }),
    output: AlertRule,
    errors: ['NOT_ALLOWED_IN_STATE'],
    audit: { object: 'name', details: ['kind', 'enabled', 'severity', 'object', 'threshold', 'forSeconds'] },
    lasting: true,
    http: [{ method: 'PUT', path: `${rulePath}/{name}` }],
    cli: {
      args: ['name'],
      example: 'gantry alerts put-rule storage-full --kind storage-file --threshold 95 --severity critical',
    },
  },
  'delete-rule': {
    summary: 'Delete an alert rule, or reset a built-in rule',
    description: 'The alerts of the rule are resolved.',
    input: strict({ name: ruleName }),
    output: strict({
      outcome: Type.Enum(['deleted', 'reset'], {
        description: 'Whether the rule is deleted, or reset to its defaults because it is built in',
      }),
      name: ruleName,
    }),
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    lasting: true,
    http: [{ method: 'DELETE', path: `${rulePath}/{name}` }],
    cli: { args: ['name'] },
  },
  webhooks: {
    summary: 'List webhooks for alerts',
    input: strict({}),
    output: list(AlertWebhook, maxWebhooks),
    errors: [],
    http: [{ method: 'GET', path: webhookPath }],
    cli: { columns: ['name', 'url', 'enabled', 'rules', 'waiting', 'lastSuccess', 'lastFailure'] },
  },
  'put-webhook': {
    summary: 'Create or change a webhook for alerts',
    description:
      'Each alert is sent when it fires and when it is resolved, as JSON by POST. Any 2xx response confirms it; otherwise Gantry retries for a day and a half. Messages are signed with the secret according to Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature), so that the receiver can check who sent them. A generated secret is shown only once. Fields that are not given stay unchanged; an empty list of rules means all rules. Redirects are not followed. Hosts in private networks are refused unless alerts.webhook_hosts in gantry.config lists them.',
    input: strict({
      name: webhookName,
      url: Type.Optional(webhookUrl),
      secret: Type.Optional(webhookSecret),
      enabled: Type.Optional(Switch(true, 'Send alerts to the webhook; default: true')),
      rules: Type.Optional(
        Type.Array(ruleName, {
          maxItems: maxWebhookRules,
          description: 'Send only alerts of these rules; default: all rules',
        }),
      ),
    }),
    output: strict({ ...AlertWebhook.properties, secret: Type.Optional(webhookSecret) }),
    errors: ['NOT_ALLOWED_IN_STATE'],
    audit: { object: 'name', details: ['enabled', 'rules'] },
    lasting: true,
    http: [{ method: 'PUT', path: `${webhookPath}/{name}` }],
    cli: {
      args: ['name'],
      secrets: ['secret'],
      example: 'gantry alerts put-webhook pager --url https://alerts.example/gantry',
    },
  },
  'delete-webhook': {
    summary: 'Delete a webhook and its pending messages',
    input: strict({ name: webhookName }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    lasting: true,
    http: [{ method: 'DELETE', path: `${webhookPath}/{name}` }],
    cli: { args: ['name'] },
  },
  'test-webhook': {
    summary: 'Send a test message and show the result',
    input: strict({ name: webhookName }),
    output: strict({
      delivered: Type.Boolean({ description: 'Whether the message was delivered' }),
      problem: Type.Optional(Text('Reason for the failure')),
      elapsedMs: Count('Duration in milliseconds'),
    }),
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    http: [{ method: 'POST', path: `${webhookPath}/{name}/test`, query: [] }],
    cli: { args: ['name'], example: 'gantry alerts test-webhook pager' },
    deadlineMs: deliveryDeadlineMs,
  },
})

export const alertEvents = events('alerts', {
  fired: { summary: 'An alert fired', payload: strict(alertEventFields) },
  resolved: { summary: 'An alert was resolved', payload: strict(alertEventFields) },
})
