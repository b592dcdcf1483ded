import { defineConfig } from 'vitest/config'
import { longTests } from './test/long.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/compiled.setup.ts', 'test/support/nats-server.setup.ts'],
    // Kill processes for many minutes: `npm run test:crash`; need Java, and others' products: `npm run test:peers`.
    // Take long: `npm run test:long`.
    exclude: ['test/crash/**', 'test/peers/**', ...longTests],
    // Tests sign, listen and change process-wide settings: a process each, not a thread.
    pool: 'forks',
    // Each mostly waits for other processes: one less than there are cores, as usual, would leave half of a small machine idle.
    maxWorkers: '100%',
    // What a file has side by side waits for timers of a broker or of the platform, not for this process.
    maxConcurrency: 10,
    // These end what hangs. A test takes seconds, and a minute on half a core.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
})
