/** How Glue is asked, by the words of its client for Hive (aws.glue.max-error-retries and the like). */
export const glueLimits = {
  glueMaxRetries: { means: 'Tries after one that failed or was throttled', usual: 5, min: 0, max: 20 },
  glueMaxConnections: { means: 'Requests at once', usual: 10, min: 1, max: 50 },
  glueMaxSocketTimeout: {
    means: 'Milliseconds without a byte before a request is given up',
    usual: 50_000,
    min: 1,
    max: 600_000,
  },
  glueConnectionTimeout: {
    means: 'Milliseconds before an attempt to connect is given up',
    usual: 5_000,
    min: 1,
    max: 60_000,
  },
} as const
