import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { alertKinds } from '../../subjects/observability/alert-model.ts'
import type { alerts } from '../../subjects/observability/alerts.ts'
import { maxAlertRules } from '../../subjects/observability/alerts.ts'
import type { Handlers } from '../../subjects/kit/contract.ts'
import { GantryError, notAccepted } from '../../subjects/kit/errors.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { builtInRule, checkRule, publicRule, usualOf } from './built-in-rules.ts'
import type { Evaluator } from './evaluator.ts'
import { type AlertState, publicAlert, type StoredRule } from './record.ts'
import { type WebhookDependencies, webhookHandlers } from './webhooks/handlers.ts'
import { missingObject } from './missing-object.ts'
import { pageAfter } from '../kit/page.ts'

export interface AlertDependencies extends Omit<WebhookDependencies, 'ruleNames'> {
  readonly connection: NatsConnection
  readonly state: Pick<AlertState, 'rules' | 'webhooks'>
  readonly evaluator: Evaluator
}

/** Alerts and their rules; whoever asks sees what is so now. */
export function alertHandlers(dependencies: AlertDependencies): Handlers<typeof alerts> {
  const { connection, state, evaluator } = dependencies
  const shown = async (rule: StoredRule) => publicRule(rule, await missingObject(connection, rule))
  return {
    ...webhookHandlers({
      ...dependencies,
      ruleNames: async () => (await evaluator.rules()).map(({ name }) => name),
    }),
    list: async ({ state: wanted, rule, after, limit = maxPageLength }) => {
      await evaluator.lookBriefly()
      const all = evaluator.alerts().map(publicAlert)
      // Firing ones first: those that are resolved are history.
      const ordered = [
        ...all.filter((one) => one.state === 'firing'),
        ...all.filter((one) => one.state === 'resolved'),
      ]
      return pageAfter(ordered, after)
        .filter((one) => (wanted ?? one.state) === one.state && (rule ?? one.rule) === one.rule)
        .slice(0, limit)
    },
    get: ({ id }, call) => {
      const alert = evaluator.get(id)
      if (alert === undefined)
        throw call.fail('NOT_FOUND', `there is no alert ${id}; it may have been removed`)
      return publicAlert(alert)
    },
    rules: async ({ after, limit = maxPageLength }) => {
      const all = await evaluator.rules()
      const page = all.filter(({ name }) => after === undefined || name > after).slice(0, limit)
      return Promise.all(page.map(shown))
    },
    'put-rule': async ({ name, ...changes }, call) => {
      const known = (await state.rules.get(name)) ?? builtInRule(name)
      if (known === undefined && (await state.rules.list()).length >= maxAlertRules)
        throw call.fail(
          'NOT_ALLOWED_IN_STATE',
          `there are already ${maxAlertRules} rules, which is the limit: delete one first`,
        )
      const stored = await state.rules.upsert(name, (current) =>
        changed(name, current ?? builtInRule(name), changes),
      )
      await evaluator.lookBriefly()
      return shown(stored)
    },
    'delete-rule': async ({ name }, call) => {
      const isBuiltIn = builtInRule(name) !== undefined
      if ((await state.rules.get(name)) !== undefined) await state.rules.delete(name)
      else if (!isBuiltIn) throw call.fail('NOT_FOUND', `there is no rule ${name}`)
      await evaluator.lookBriefly()
      return { outcome: isBuiltIn ? 'reset' : 'deleted', name }
    },
  }
}

/** @throws GantryError NOT_ACCEPTED, NOT_ALLOWED_IN_STATE */
function changed(
  name: string,
  before: StoredRule | undefined,
  { kind = before?.kind, ...changes }: Partial<Omit<StoredRule, 'name'>>,
): StoredRule {
  if (kind === undefined) {
    throw notAccepted('kind', `is missing: a new rule requires it; use ${Object.keys(alertKinds).join(', ')}`)
  }
  if (before !== undefined && before.kind !== kind) {
    throw new GantryError(
      'NOT_ALLOWED_IN_STATE',
      `the kind of ${name} is ${before.kind} and cannot be changed: create a new rule for ${kind}`,
    )
  }
  const rule = { ...(before ?? { ...usualOf(kind), name, description: '' }), ...changes }
  checkRule(rule)
  return rule
}
