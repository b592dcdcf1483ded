import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // The model of live migrations is here with as many steps as it takes to meet what is rare.
    include: ['test/crash/**/*.test.ts', 'test/services/migrations/live/live-model.test.ts'],
    env: { GANTRY_LIVE_STEPS: process.env['GANTRY_LIVE_STEPS'] ?? '4000' },
    globalSetup: ['test/support/nats-server.setup.ts'],
    pool: 'forks',
    // Two of them at once would kill at moments that neither chose.
    fileParallelism: false,
    // Sixty kills take five minutes on a quiet machine.
    testTimeout: 1_800_000,
    hookTimeout: 60_000,
  },
})
