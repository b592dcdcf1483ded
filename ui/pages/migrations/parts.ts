/** Parts of the page of a migration, in their order; each with other words that people look for it by. */
export const migrationParts = {
  Overview: 'progress speed',
  Failures: 'errors retry',
  Plan: 'preview',
  Rules: 'exclusions inclusions exclude include',
  Transfer: 'bandwidth agents',
  Verifications: 'verify compare differences',
  Cleanups: 'clean up',
  Events: 'log history',
} as const
export type MigrationPart = keyof typeof migrationParts
