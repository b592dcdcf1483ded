import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

/** The end of a test file's name says what it needs; docs/HACKING.md has the rule. */
const kinds = ['platform', 'alone', 'slow', 'ui']
const ending = (kind: string) => `test/**/*.${kind}.test.ts`
const broker = 'test/support/nats-server.setup.ts'
const compiled = 'test/support/compiled.setup.ts'

/** Each waits for other processes most of the time: as many test files at once as there are cores leave them idle for a tenth of it. */
const maxWorkers = 2 * availableParallelism()

/** What a file has side by side waits for timers of a broker or of the platform, not for this process. */
const maxConcurrency = 10

/** These end what hangs. A test takes seconds, and a minute on half a core. */
const timeouts = { testTimeout: 180_000, hookTimeout: 180_000 }

/** A file after the other leaves much that is soon garbage: with room for it, less of it is copied about. */
const execArgv = ['--max-semi-space-size=64']

const usual = {
  pool: 'forks',
  execArgv,
  maxWorkers,
  maxConcurrency,
  ...timeouts,
  exclude: ['test/crash/**', 'test/peers/**'],
} satisfies TestProjectInlineConfiguration['test']

export default defineConfig({
  test: {
    reporters: ['default', './test/support/skipped.reporter.ts'],
    coverage: { include: ['{broker,cli,client,config,http-edge,sdk,services,subjects}/**/*.ts'] },
    projects: [
      // Files of these two share a process with those before them: each would else load the same hundreds of modules.
      // A thread could not stop being root for a while, as some tests do.
      {
        test: {
          ...usual,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...usual.exclude, ...kinds.map(ending)],
          isolate: false,
          globalSetup: [compiled],
        },
      },
      {
        test: {
          ...usual,
          name: 'platform',
          include: [ending('platform')],
          isolate: false,
          globalSetup: [compiled, broker],
        },
      },
      { test: { ...usual, name: 'alone', include: [ending('alone')], globalSetup: [compiled, broker] } },
      { test: { ...usual, name: 'slow', include: [ending('slow')], globalSetup: [compiled, broker] } },
      // A browser takes all cores by itself.
      {
        test: {
          ...usual,
          name: 'ui',
          include: [ending('ui')],
          fileParallelism: false,
          globalSetup: [compiled, broker],
        },
      },
      {
        test: {
          name: 'crash',
          // The model of live migrations is here with as many steps as it takes to meet what is rare.
          include: ['test/crash/**/*.test.ts', 'test/services/migrations/live/live-model.slow.test.ts'],
          env: { GANTRY_LIVE_STEPS: process.env['GANTRY_LIVE_STEPS'] ?? '4000' },
          globalSetup: [broker],
          pool: 'forks',
          // Two of them at once would kill at moments that neither chose.
          fileParallelism: false,
          // Sixty kills take five minutes on a quiet machine.
          testTimeout: 1_800_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'peers',
          include: ['test/peers/**/*.test.ts'],
          globalSetup: [
            broker,
            'test/support/keycloak.setup.ts',
            'test/support/python.setup.ts',
            'test/support/go-programs.setup.ts',
            'test/support/hdfs.setup.ts',
            'test/support/s3a-client.setup.ts',
            'test/support/hive-metastore.setup.ts',
            'test/support/iceberg-rest.setup.ts',
            'test/support/kafka.setup.ts',
            'test/support/sqs.setup.ts',
            'test/support/openapi-clients.setup.ts',
            'test/support/debian-programs.setup.ts',
            'test/support/docker.setup.ts',
          ],
          pool: 'forks',
          // Each of them alone takes the machine; what is side by side in one waits for timeouts and restarts of stores.
          fileParallelism: false,
          maxConcurrency: 3,
          testTimeout: 60_000,
          // Keycloak compiles itself for its options first: half a minute where nothing else runs.
          hookTimeout: 240_000,
        },
      },
    ],
  },
})
