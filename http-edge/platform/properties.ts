import type { PropertyReader } from '../../config/properties.ts'
import { readProperties, type ServerProperties } from '../server/properties.ts'

/** Who may read the metrics in the text of Prometheus: keys that may, and with loopback programs on this host without one. */
export type MetricsAccess = 'key' | 'loopback'
const metricsAccessKey = 'metrics.access'

export const platformProperties = {
  name: 'platform',
  readers: {
    [metricsAccessKey]: {
      meaning: 'key or loopback',
      read: (text) => (text === 'key' || text === 'loopback' ? text : undefined),
    } satisfies PropertyReader<MetricsAccess>,
  },
  text: `
# Access to the metrics at /metrics: keys with a rule for it (key), or programs on this host without a key (loopback).
${metricsAccessKey}=key
`,
} as const satisfies ServerProperties

/** Who may read the metrics of the platform. @throws ConfigError that names the file, the line and the key */
export const loadMetricsAccess = (home: string): MetricsAccess =>
  readProperties(home, platformProperties).values[metricsAccessKey] ?? 'key'
