/** Tests that wait for outages, restarts, kills and large files; `npm run test:long` has them, so that `npm test` takes minutes. */
export const longTests = [
  'test/http-edge/slow-clients.test.ts',
  'test/platform/agents.test.ts',
  'test/platform/migration-azurite.test.ts',
  'test/platform/migration-azurite-large.test.ts',
  'test/platform/migration-kinds.test.ts',
  'test/platform/migration-live-ordinary.test.ts',
  'test/platform/migration-local.test.ts',
  'test/platform/migration-outage.test.ts',
  'test/platform/migration-roots.test.ts',
  'test/platform/source-identity.test.ts',
  'test/platform/storage.test.ts',
  'test/services/engine/move-killed.test.ts',
  'test/services/engine/spread.test.ts',
  'test/services/migrations/live/live-model.test.ts',
]
