import { files } from '../subjects/kit/names.ts'
import { ConfigError } from './config-error.ts'

/** A collector of OpenTelemetry. */
export interface OtlpConfig {
  /** Address without `/v1/…` and a slash at its end. */
  readonly endpoint: string
  /** Sent with each request; may be secret. */
  readonly headers: Readonly<Record<string, string>>
}

/** @throws ConfigError when the address is none, or the headers are not `name=value,…` */
export function otlpIn({
  'otlp.endpoint': endpoint,
  'otlp.headers': headers = '',
}: {
  readonly 'otlp.endpoint'?: string
  readonly 'otlp.headers'?: string
}): OtlpConfig | undefined {
  if (endpoint === undefined) return undefined
  const url = URL.parse(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.username !== '') {
    throw new ConfigError(
      `${files.config}: otlp.endpoint must be http:// or https:// with a host and an optional path; set credentials in otlp.headers`,
    )
  }
  return { endpoint: url.href.replace(/\/+$/, ''), headers: headersIn(headers) }
}

/** As in OTEL_EXPORTER_OTLP_HEADERS. */
function headersIn(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^\s*([\w-]+)\s*=\s*([\x20-\x7e]*?)\s*$/.exec(pair) ?? []
      if (name !== undefined && value !== undefined) return [name, value]
      throw new ConfigError(`${files.config}: otlp.headers must have the form name=value,name=value`)
    }),
  )
}
