import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { until } from '../support/until.ts'
import { addStores, choose, openPage, signIn, startWithUi, visit } from './support.ts'

const files = 400

chromiumTest(
  'figures come with the events: the list is asked for once, however long a migration runs',
  async () => {
    await using platform = await startWithUi()
    using folder = await addStores(platform)
    for (let file = 0; file < files; file++) writeFileSync(join(folder.from, `${file}`), 'content')
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
      'not started',
      'scheduled',
      'running',
      'completed',
    ])
    // How long it has been over says nothing of it.
    expect(texts.at(-1)).toBe('completed')
    await page.getByText('All changes of state').click()
    await page.getByRole('table', { name: 'Changes of state' }).getByText('running').waitFor()
  },
)

chromiumTest(
  'whoever stops a live migration finds each button where it was, and what was deleted',
  async () => {
    await using platform = await startWithUi()
    using folder = await addStores(platform)
    mkdirSync(join(folder.from, 'folder'))
    for (const name of ['one', 'two']) writeFileSync(join(folder.from, 'folder', name), 'content')
    const migrationId = 'live'
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: 'here',
      target: 'there',
      scanOnlyMigration: false,
      autoStart: true,
    })
    const state = async () => (await platform.call(migrations.get, { migrationId })).state
    await until('it follows its source', async () => (await state()) === 'LIVE')
    await using browser = await openChromium()
    const { page } = await openPage(browser.context)
    await signIn(page, platform, 'administrator')
    await visit(page, platform, `/migrations/${migrationId}`, migrationId)
    rmSync(join(folder.from, 'folder'), { recursive: true })
    await page.getByText('2 files, 1 folder', { exact: true }).waitFor()

    await page.getByText('0 B/s, 0 files/s').waitFor()

    const stop = page.getByRole('button', { name: 'Stop', exact: true })
    const names = () =>
      page.getByRole('heading', { level: 1 }).locator('../..').getByRole('button').allTextContents()
    const before = await stop.boundingBox()
    const buttons = await names()
    expect(await page.getByRole('button', { name: 'Delete', exact: true }).isDisabled()).toBe(true)
    // A second click is none on what stands there then.
    await stop.dblclick()
    await page.getByRole('heading', { level: 1 }).locator('..').getByText('stopped').waitFor()
    expect(await stop.isDisabled()).toBe(true)
    expect((await stop.boundingBox())?.y).toBe(before?.y)
    expect((await names()).map((name) => (name === 'Resume' ? 'Start' : name))).toEqual(
      buttons.map((name) => (name === 'Resume' ? 'Start' : name)),
    )
    await page.getByText('Changes not followed for').waitFor()
    expect(await state()).toBe('STOPPED')
    // Whatever part of the page somebody looked at when it happened.
    await page.getByRole('tab', { name: 'Events' }).click()
    const events = page.getByRole('listitem').filter({ hasText: 'stopped' })
    await events.first().waitFor()
    expect(await events.first().textContent()).not.toMatch(/stopped.*stopped/)
    await page.getByText('gantry notifications list').waitFor()
    // The search has it go on, by the words that one would type for that.
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill(`resume ${migrationId}`)
    await page.getByRole('option', { name: `Resume ${migrationId} Action` }).waitFor()
    await page.keyboard.press('Enter')
    await until('it follows its source again', async () => (await state()) === 'LIVE')
  },
)

chromiumTest('two people see at once what the other one does', async () => {
  await using platform = await startWithUi()
  using _folder = await addStores(platform)
  await platform.call(migrations.create, {
    migrationId: 'shared',
    path: '/',
    source: 'here',
    target: 'there',
  })
  await using browser = await openChromium()
  await using other = await openChromium()
  const { page: one } = await openPage(browser.context)
  const { page: two } = await openPage(other.context)
  await signIn(one, platform, 'administrator')
  await signIn(two, platform, 'viewer')
  await visit(two, platform, '/migrations', 'Migrations')
  const row = two.getByRole('row').filter({ has: two.getByRole('link', { name: 'shared' }) })
  await row.getByText('normal').waitFor()
  // There is nothing that a viewer could do with those that are chosen.
  expect(await two.getByRole('checkbox').count()).toBe(0)
  await visit(one, platform, '/migrations/shared', 'shared')
  await one.getByRole('button', { name: 'Change', exact: true }).click()
  await choose(one, 'Migration priority', 'High')
  await one.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await row.getByText('high').waitFor()
  await visit(two, platform, '/migrations/shared', 'shared')
  await one.getByRole('button', { name: 'Start', exact: true }).click()
  await two.getByRole('heading', { level: 1 }).locator('..').getByText('completed').waitFor()
})
