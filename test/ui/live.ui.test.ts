import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { addLocal } from '../support/migrations.ts'
import { until } from '../support/until.ts'
import { openPage, signIn, startWithUi, visit } from './support.ts'

const files = 400

chromiumTest(
  'figures come with the events: the list is asked for once, however long a migration runs',
  async () => {
    await using platform = await startWithUi()
    const root = mkdtempSync(join(tmpdir(), 'gantry-ui-'))
    const [from, to] = [join(root, 'from'), join(root, 'to')]
    for (const path of [from, to]) mkdirSync(path)
    for (let file = 0; file < files; file++) writeFileSync(join(from, `${file}`), 'content')
    await addLocal(platform, 'here', 'source', from)
    await addLocal(platform, 'there', 'target', to)
    await platform.call(migrations.create, {
      migrationId: 'long',
      path: '/',
      source: 'here',
      target: 'there',
      scanOnlyMigration: true,
    })
    await platform.call(bandwidth.set, { scope: 'global', requests: files / 4 })
    await using browser = await openChromium()
    const { page } = await openPage(browser.context)
    const asked: string[] = []
    const heard = { progressed: 0 }
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => asked.push(payload.toString()))
      socket.on('framereceived', ({ payload }) => {
        heard.progressed += payload.toString().split('.now.progressed.').length - 1
      })
    })
    await signIn(page, platform, 'administrator')
    await visit(page, platform, '/migrations', 'Migrations')
    await page.getByRole('link', { name: 'long' }).waitFor()
    // What has changed is asked for by name.
    const isList = (sent: string) =>
      sent.includes(`PUB ${migrations.list.subject} `) && !sent.includes('migrationIds')
    const lists = () => asked.filter(isList).length
    expect(lists()).toBe(1)
    await platform.call(migrations.start, { migrationId: 'long' })
    await page.getByRole('progressbar', { name: 'Progress of long' }).waitFor()
    await page.getByRole('cell', { name: 'completed' }).waitFor()
    await until('figures were told', () => heard.progressed > 1)
    await page.getByRole('cell', { name: `${((files * 'content'.length) / 1024).toFixed(1)} KiB` }).waitFor()
    expect(lists()).toBe(1)

    await visit(page, platform, '/migrations/long', 'long')
    const states = page.getByRole('list', { name: 'States over time, oldest first' }).getByRole('listitem')
    // It comes after the first look.
    await states.first().waitFor()
    const texts = await states.allTextContents()
    expect(texts.map((text) => text.split(',')[0])).toEqual([
      'nonscheduled',
      'scheduled',
      'running',
      'completed',
    ])
    expect(texts.at(-1)).toContain('so far')
    await page.getByText('All changes of state').click()
    await page.getByRole('table', { name: 'Changes of state' }).getByText('running').waitFor()
    rmSync(root, { recursive: true })
  },
)
