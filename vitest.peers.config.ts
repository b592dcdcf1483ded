import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/peers/**/*.test.ts'],
    globalSetup: [
      'test/support/nats-server.setup.ts',
      'test/support/keycloak.setup.ts',
      'test/support/python.setup.ts',
    ],
    pool: 'forks',
    testTimeout: 60_000,
    // Keycloak compiles itself for its options first: half a minute where nothing else runs.
    hookTimeout: 240_000,
  },
})
