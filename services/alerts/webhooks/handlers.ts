import { randomBytes } from 'node:crypto'
import type { Sealer } from '../../../broker/identity/seal.ts'
import { type AlertWebhook, maxWebhooks } from '../../../subjects/observability/alert-model.ts'
import type { alerts } from '../../../subjects/observability/alerts.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'
import { product } from '../../../subjects/kit/names.ts'
import { nearest } from '../../../subjects/kit/nearest.ts'
import { GantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import type { AlertState, StoredWebhook } from '../record.ts'
import { InnerAddressError } from '../../../broker/common/inner-addresses.ts'
import type { Deliveries } from './deliveries.ts'
import { requireOuter, secretOf } from './post.ts'

/** The size of the hash that it signs with. */
const secretBytes = 32

export interface WebhookDependencies {
  readonly state: Pick<AlertState, 'webhooks'>
  readonly deliveries: Deliveries
  readonly sealer: Sealer
  readonly innerHosts: ReadonlySet<string>
  /** Names of all alert rules. */
  readonly ruleNames: () => Promise<readonly string[]>
}

type WebhookVerb = 'webhooks' | 'put-webhook' | 'delete-webhook' | 'test-webhook'

/** Where alerts are sent to. */
export function webhookHandlers({
  state: { webhooks },
  deliveries,
  sealer,
  innerHosts,
  ruleNames,
}: WebhookDependencies): Pick<Handlers<typeof alerts>, WebhookVerb> {
  const shown = ({ sealedUrl, sealedSecret: _sealed, ...webhook }: StoredWebhook): AlertWebhook => ({
    ...webhook,
    url: masked(sealer.open(sealedUrl)),
    waiting: deliveries.waiting(webhook.name),
  })
  const found = async (name: string): Promise<StoredWebhook> => {
    const webhook = await webhooks.get(name)
    if (webhook === undefined) throw new GantryError('NOT_FOUND', `there is no webhook ${name}`)
    return webhook
  }
  /** A webhook of a rule that is not there would never be told anything. */
  const requireRules = async (rules: readonly string[]): Promise<void> => {
    const known = await ruleNames()
    const index = rules.findIndex((rule) => !known.includes(rule))
    if (index < 0) return
    const near = nearest(rules[index]!, known)
    const fix = near === undefined ? `see "${product} alerts rules"` : `did you mean ${near}?`
    throw notAccepted(`rules.${index}`, `names an alert rule that does not exist: ${fix}`)
  }
  return {
    webhooks: async () => (await webhooks.list()).map(shown),
    'put-webhook': async ({ name, url, secret, rules, enabled }, call) => {
      if (url !== undefined) requireSafe(url, innerHosts)
      if (rules !== undefined) await requireRules(rules)
      const known = await webhooks.get(name)
      if (known === undefined && url === undefined)
        throw notAccepted('url', 'is missing: a new webhook requires it')
      if (known === undefined && (await webhooks.list()).length >= maxWebhooks)
        throw call.fail(
          'NOT_ALLOWED_IN_STATE',
          `there are already ${maxWebhooks} webhooks, which is the limit: delete one first`,
        )
      const made = secret ?? secretOf(randomBytes(secretBytes))
      let isNew = false
      const stored = await webhooks.upsert(name, (current) => {
        isNew = current === undefined
        const { rules: rulesBefore, ...before } = current ?? {
          name,
          enabled: true,
          sealedUrl: '',
          sealedSecret: '',
        }
        const rulesNow = rules ?? rulesBefore ?? []
        return {
          ...before,
          enabled: enabled ?? before.enabled,
          sealedUrl: url === undefined ? before.sealedUrl : sealer.seal(url),
          sealedSecret: secret !== undefined || isNew ? sealer.seal(made) : before.sealedSecret,
          ...(rulesNow.length === 0 ? {} : { rules: rulesNow }),
        }
      })
      return { ...shown(stored), ...(isNew && secret === undefined ? { secret: made } : {}) }
    },
    'delete-webhook': async ({ name }) => {
      await found(name)
      await webhooks.delete(name)
      await deliveries.drop(name)
      return {}
    },
    'test-webhook': async ({ name }) => {
      const started = performance.now()
      const { problem } = await deliveries.test(await found(name))
      const elapsedMs = Math.round(performance.now() - started)
      return { delivered: problem === undefined, ...(problem === undefined ? {} : { problem }), elapsedMs }
    },
  }
}

/** Path and query of many receivers are a secret themselves. */
function masked(text: string): string {
  const url = new URL(text)
  return url.href === `${url.origin}/` ? url.origin : `${url.origin}/…`
}

/** @throws GantryError NOT_ACCEPTED */
function requireSafe(text: string, innerHosts: ReadonlySet<string>): void {
  const url = URL.parse(text)
  if (url === null) throw notAccepted('url', 'must be an address such as https://alerts.example/gantry')
  try {
    requireOuter(url, innerHosts)
  } catch (error) {
    if (error instanceof InnerAddressError) throw notAccepted('url', `cannot be used: ${error.message}`)
    throw error
  }
}
