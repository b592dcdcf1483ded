import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keys } from '../../subjects/access/keys.ts'
import { roles } from '../../subjects/access/roles.ts'
import { assignments } from '../../subjects/access/assignments.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { verifications } from '../../subjects/migrations/verifications.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { pathMappings } from '../../subjects/rules/path-mappings.ts'
import { registration } from '../support/example-extension.ts'
import { addLocal } from '../support/migrations.ts'
import type { TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

/** Names that a page must show and not run, or be turned around by. */
export const hostileNames = {
  markup: '<img src=x onerror=alert(1)>',
  address: 'javascript:alert(1)',
  long: 'x'.repeat(120),
  /** Only paths and descriptions can have it: what follows it is shown from right to left. */
  turned: 'a\u202egnp.exe',
} as const

/** What an extension brings, with pages that try what they may not. */
export const hostileExtension = (prefix: string) =>
  registration(prefix, {
    name: hostileNames.markup,
    description: hostileNames.address,
    menus: [{ label: hostileNames.markup, route: '/home' }],
    routes: [
      { path: '/home', title: 'Weather page', uri: `ui://${prefix}/home` },
      { path: '/read', title: 'Weather text', uri: `ui://${prefix}/read` },
    ],
    widgets: [{ name: 'today', title: 'Weather today', uri: `ui://${prefix}/home` }],
    resources: [
      {
        uri: `ui://${prefix}/home`,
        mediaType: 'text/html',
        content:
          '<!doctype html><html lang="en"><title>w</title><p id="said">It is sunny</p><script>parent.document.title = "taken"; document.getElementById("said").textContent = "ran"</script></html>',
      },
      {
        uri: `ui://${prefix}/read`,
        mediaType: 'text/markdown',
        content:
          '## Forecast\n\nIt **rains**. [Bad](javascript:alert(1)) <script>alert(1)</script>\n\n- one\n- two',
      },
    ],
  })

/** Fills a platform with something of everything that a page shows. */
export async function fill(platform: TestPlatform, root: string): Promise<void> {
  const [from, to] = [join(root, 'from'), join(root, 'to')]
  for (const path of [from, to, join(from, 'one'), join(from, 'two')]) mkdirSync(path, { recursive: true })
  writeFileSync(join(from, 'one', 'a'), 'content')
  writeFileSync(join(from, 'one', hostileNames.address), 'content')
  // A pipe is no file: it is among the failures.
  for (const name of ['pipe', hostileNames.turned]) execFileSync('mkfifo', [join(from, 'one', name)])
  await addLocal(platform, 'here', 'source', from)
  await addLocal(platform, 'there', 'target', to)
  await addLocal(platform, hostileNames.markup, 'target', to)
  await platform.call(exclusions['create-regex'], {
    id: hostileNames.markup,
    regex: '.*[.]tmp',
    description: hostileNames.turned,
  })
  await platform.call(inclusions['create-paths'], {
    id: 'listed',
    paths: ['/one', `/${hostileNames.turned}`, `/${hostileNames.long}`],
  })
  await platform.call(pathMappings.create, {
    pathMappingId: hostileNames.markup,
    sourceFileSystem: 'here',
    sourcePath: '/mapped',
    targetFileSystem: 'there',
    targetPath: '/elsewhere',
  })
  await platform.call(migrations.create, {
    migrationId: 'first',
    path: '/one',
    source: 'here',
    target: 'there',
    autoStart: true,
    scanOnlyMigration: true,
  })
  await platform.call(migrations.create, {
    migrationId: hostileNames.markup,
    path: '/two',
    source: 'here',
    target: 'there',
    exclusions: [hostileNames.markup],
  })
  await until(
    'the migration is completed',
    async () => (await platform.call(migrations.get, { migrationId: 'first' })).state === 'COMPLETED',
  )
  await platform.call(verifications.create, { migrationId: 'first', level: 'digest' })
  await platform.call(bandwidth.set, {
    scope: 'global',
    limit: 100,
    unit: 'MiB',
    schedule: {
      timeZone: 'UTC',
      windows: [{ days: ['MON'], from: '08:00', to: '18:00', limitBytesPerSecond: 1024 ** 2 }],
    },
  })
  await platform.call(alerts['put-webhook'], { name: 'desk', url: 'https://hooks.example/alerts' })
  await platform.call(roles.put, {
    name: hostileNames.markup,
    description: hostileNames.turned,
    pub: { allow: ['gantry.services.v1.migrations.list'] },
    sub: { allow: [] },
    visible_extensions: [],
  })
  await platform.call(assignments.put, { group: hostileNames.markup, roles: [hostileNames.markup] })
  await platform.call(keys.create, {
    name: hostileNames.markup,
    capabilities: { pub: { allow: [] }, sub: { allow: [] } },
  })
  for (const catalogId of ['lake', hostileNames.markup])
    await platform.call(metadataCatalogs['create-filesystem'], {
      catalogId,
      fileSystemId: catalogId === 'lake' ? 'here' : 'there',
    })
  await platform.call(metadataRules.create, {
    ruleName: hostileNames.markup,
    databasePattern: '*',
    tablePattern: '*',
  })
  await platform.call(metadataMigrations.create, {
    migrationName: hostileNames.markup,
    source: 'lake',
    target: hostileNames.markup,
    ruleNames: [hostileNames.markup],
  })
}
