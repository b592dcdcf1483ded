import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import parse from 'parse-prometheus-text-format'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { runProgram } from '../../../broker/server/run-program.ts'
import { MetadataMetrics } from '../../../services/metadata/migrations/metrics.ts'
import { prometheusText } from '../../../services/observability/prometheus.ts'
import { MetricStore } from '../../../services/observability/store.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { platformSource } from '../../../subjects/observability/metric-model.ts'
import { MetricRegistry } from '../../../subjects/observability/metric-registry.ts'
import { type Client, createClient } from '../../support/keys.ts'
import { metadataMigration } from '../../support/metadata-migrations.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { whyMissing } from '../../support/provide.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const observability = join(root, 'docs/observability')
const rulesFolder = join(observability, 'prometheus')
const dashboardFile = join(observability, 'grafana/dashboards/gantry.json')
const timeoutMs = 60_000

interface Target {
  readonly expr: string
}
interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly Target[] }[]
  readonly annotations: { readonly list: readonly Target[] }
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}
const dashboard = JSON.parse(readFileSync(dashboardFile, 'utf8')) as Dashboard
const rules = parseYaml(readFileSync(join(rulesFolder, 'gantry.rules.yml'), 'utf8')) as Rules
const ruleNames = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert))
const shown = [...dashboard.panels.flatMap(({ targets = [] }) => targets), ...dashboard.annotations.list].map(
  ({ expr }) => expr,
)

const folder = mkdtempSync(join(tmpdir(), 'gantry-observability-'))
const folders = createFolder('from', 'to')
let platform: TestPlatform
let client: Client

const textServed = async (): Promise<string> => {
  const headers = { authorization: `Bearer ${client.token}` }
  return (await fetch(`${platform.httpUrls.platform}/metrics`, { headers })).text()
}

beforeAll(async () => {
  platform = await startTestPlatform()
  // As docs/observability/README.md has it.
  client = await createClient(platform, {
    pub: { allow: ['gantry.services.v1.observability.prometheus'] },
    sub: { allow: ['gantry.metrics.v1.>'] },
  })
  await addLocal(platform, 'from', 'source', folders.from)
  await addLocal(platform, 'to', 'target', folders.to)
  const live = { migrationId: 'live', path: '/', source: 'from', target: 'to' }
  await platform.call(migrations.create, { ...live, scanOnlyMigration: false, autoStart: true })
  // That of HTTP is measured once there was a request.
  await platform.rest('platform', 'GET', '/api/v1/roles')
  await until('its lag is measured', async () =>
    (await textServed()).includes('gantry_migrations_lag_seconds'),
  )
}, timeoutMs)
afterAll(async () => {
  await client[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
  folders[Symbol.dispose]()
  rmSync(folder, { recursive: true })
})

/** What a metadata migration adds, which needs two catalogs. */
function textOfMetadata(): string {
  const registry = new MetricRegistry()
  new MetadataMetrics(registry).measure([metadataMigration({ lagSeconds: 7, lagEvents: 2 })])
  const store = new MetricStore()
  store.add(platformSource, registry.drain(), Date.now())
  return prometheusText(store.select(), Date.now())
}

describe('what is served', () => {
  testUnless(whyMissing('PROMTOOL'), 'promtool has nothing to complain of', async () => {
    for (const input of [await textServed(), textOfMetadata()]) {
      const checked = spawnSync(process.env['PROMTOOL']!, ['check', 'metrics'], { input, encoding: 'utf8' })
      expect(checked).toMatchObject({ status: 0, stderr: '' })
    }
  })

  test('has every metric that the dashboard and the rules name', async () => {
    const served = new Set(
      [await textServed(), textOfMetadata()]
        .flatMap(parse)
        .flatMap(({ name, type }) =>
          type === 'HISTOGRAM' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
        ),
    )
    const named = [...shown, ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr))].flatMap(
      (expr) => expr.match(/\bgantry_\w+/g) ?? [],
    )
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter((name) => !served.has(name))).toEqual([])
  })
})

testUnless(whyMissing('PROMTOOL'), 'promtool takes the rules, and their own tests pass', async () => {
  const promtool = (...args: string[]) =>
    runProgram(process.env['PROMTOOL']!, args, { timeoutMs, cwd: rulesFolder })
  expect(await promtool('check', 'rules', 'gantry.rules.yml')).toContain(`${ruleNames.length} rules found`)
  await promtool('test', 'rules', 'gantry.rules.test.yml')
  await promtool('check', 'config', '--syntax-only', 'prometheus.yml')
})

interface Reply {
  readonly status: string
  readonly error?: string
  readonly data: {
    readonly activeTargets?: readonly { readonly health: string }[]
    readonly groups?: readonly {
      readonly rules: readonly { readonly name: string; readonly health: string }[]
    }[]
    readonly result?: readonly unknown[]
  }
}

testUnless(
  whyMissing('PROMETHEUS'),
  'Prometheus reads the platform with the token in a file, evaluates all rules, and answers all that the dashboard asks',
  async () => {
    const port = await freePort()
    const tokenFile = join(folder, 'token')
    writeFileSync(tokenFile, client.token)
    copyFileSync(join(rulesFolder, 'gantry.rules.yml'), join(folder, 'gantry.rules.yml'))
    const config = readFileSync(join(rulesFolder, 'prometheus.yml'), 'utf8')
      .replace('/run/secrets/gantry-token', tokenFile)
      .replace('gantry:8080', new URL(platform.httpUrls.platform).host)
      .replaceAll('15s', '1s')
    writeFileSync(join(folder, 'prometheus.yml'), config)
    const args = ['--config.file', 'prometheus.yml', '--storage.tsdb.path', 'data']
    const prometheus = spawn(
      process.env['PROMETHEUS']!,
      [...args, '--web.listen-address', `${loopback}:${port}`],
      { cwd: folder, stdio: 'ignore' },
    )
    const ended = once(prometheus, 'exit')
    const ask = async (path: string): Promise<Reply> => {
      const response = await fetch(`http://${loopback}:${port}/api/v1/${path}`).catch(() => undefined)
      return ((await response?.json().catch(() => undefined)) ?? { status: 'away', data: {} }) as Reply
    }
    try {
      await until('it has read the platform', async () => {
        const { data } = await ask('targets?state=active')
        return data.activeTargets?.[0]?.health === 'up'
      })
      await until('it has evaluated all rules', async () => {
        const { data } = await ask('rules')
        const all = data.groups?.flatMap((group) => group.rules) ?? []
        return all.length === ruleNames.length && all.every(({ health }) => health === 'ok')
      })
      const queries = shown.map((expr) =>
        expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'),
      )
      for (const query of queries)
        expect({ query, ...(await ask(`query?query=${encodeURIComponent(query)}`)) }).toMatchObject({
          status: 'success',
        })
      const { data } = await ask(
        `query?query=${encodeURIComponent('gantry_migrations_lag_seconds{migration="live"}')}`,
      )
      expect(data.result).toHaveLength(1)
    } finally {
      prometheus.kill('SIGTERM')
      await ended
    }
  },
  timeoutMs,
)

testUnless(
  whyMissing('PYTHON_FOR_GRAFANA'),
  'the model of Grafana reads all of the dashboard',
  async () => {
    const script = fileURLToPath(new URL('grafana_model.py', import.meta.url))
    const lost = await runProgram(process.env['PYTHON_FOR_GRAFANA']!, [script, dashboardFile], { timeoutMs })
    // A field of the data source of Prometheus, which that model does not have.
    expect(JSON.parse(lost)).toEqual(['/annotations/list/0/titleFormat'])
  },
  timeoutMs,
)

test('the compose file mounts what Grafana and Prometheus are told to read', () => {
  const read = (path: string) => parseYaml(readFileSync(join(root, path), 'utf8')) as never
  const { services, secrets } = read('docker-compose.yml') as {
    services: Record<
      'prometheus' | 'grafana',
      { volumes: string[]; secrets: { source: string; target: string }[] }
    >
    secrets: object
  }
  const { providers } = read('docs/observability/grafana/provisioning/dashboards/gantry.yml') as {
    providers: [{ options: { path: string } }]
  }
  expect(services.grafana.volumes).toContain(
    `./docs/observability/grafana/dashboards:${providers[0].options.path}:ro`,
  )
  const { scrape_configs: jobs } = read('docs/observability/prometheus/prometheus.yml') as {
    scrape_configs: [{ authorization: { credentials_file: string } }]
  }
  const [{ source, target }] = services.prometheus.secrets as [{ source: string; target: string }]
  expect(`/run/secrets/${target}`).toBe(jobs[0].authorization.credentials_file)
  expect(secrets).toHaveProperty(source)
})
