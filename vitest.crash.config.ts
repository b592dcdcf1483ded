import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/crash/**/*.test.ts'],
    globalSetup: ['test/support/nats-server.setup.ts'],
    pool: 'forks',
    // Two of them at once would kill at moments that neither chose.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
})
