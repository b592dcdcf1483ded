import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/crash/**/*.test.ts'],
    globalSetup: ['test/support/nats-server.setup.ts'],
    pool: 'forks',
    // Two of them at once would kill at moments that neither chose.
    fileParallelism: false,
    // Sixty kills take five minutes on a quiet machine.
    testTimeout: 1_800_000,
    hookTimeout: 60_000,
  },
})
