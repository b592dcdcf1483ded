import { files } from '../subjects/kit/names.ts'
import { ConfigError } from './config-error.ts'
import { hostOf } from '../broker/common/inner-hosts.ts'

/**
 * Hosts of inner networks that webhooks may be at, from `alerts.webhook_hosts`: names and addresses, each maybe with a port.
 * @throws ConfigError when one is no host
 */
export function webhookHostsIn({
  'alerts.webhook_hosts': text = '',
}: {
  readonly 'alerts.webhook_hosts'?: string
}): ReadonlySet<string> {
  const hosts = text
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '')
  return new Set(
    hosts.map((text) => {
      const host = hostOf(text)
      if (host !== undefined) return host
      throw new ConfigError(
        `${files.config}: alerts.webhook_hosts must be hosts with optional ports, such as alerts.inner,10.1.2.3:8443`,
      )
    }),
  )
}
