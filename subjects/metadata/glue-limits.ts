/** How Glue is asked, by the words of its client for Hive (aws.glue.max-error-retries and the like). */
export const glueLimits = {
  glueMaxRetries: {
    means: 'Maximum number of retries of a failed or throttled request',
    usual: 5,
    min: 0,
    max: 20,
  },
  glueMaxConnections: { means: 'Maximum number of concurrent requests', usual: 10, min: 1, max: 50 },
  glueMaxSocketTimeout: {
    means: 'Timeout in milliseconds for a request without data received',
    usual: 50_000,
    min: 1,
    max: 600_000,
  },
  glueConnectionTimeout: {
    means: 'Timeout in milliseconds for establishing a connection',
    usual: 5_000,
    min: 1,
    max: 60_000,
  },
} as const
