/** Tests that wait for outages, restarts, kills and large files; `npm run test:long` has them, so that `npm test` takes minutes. */
export const longTests = [
  'test/http-edge/slow-clients.slow.test.ts',
  'test/platform/agents.slow.test.ts',
  'test/platform/migration-azurite.slow.test.ts',
  'test/platform/migration-azurite-large.slow.test.ts',
  'test/platform/migration-kinds.slow.test.ts',
  'test/platform/migration-live-ordinary.slow.test.ts',
  'test/platform/migration-local.slow.test.ts',
  'test/platform/migration-outage.slow.test.ts',
  'test/platform/migration-roots.slow.test.ts',
  'test/platform/source-identity.slow.test.ts',
  'test/platform/storage.slow.test.ts',
  'test/services/engine/move-killed.slow.test.ts',
  'test/services/engine/spread.slow.test.ts',
  'test/services/migrations/live/live-model.slow.test.ts',
]
