import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { until } from '../support/until.ts'
import { expectNone, openPage, signIn, startWithUi, visit } from './support.ts'

/** More than one page of what is shown first, and than an update asks for one by one. */
const count = 150
/** Far fewer than the platform answers at the same time. */
const atOnce = 30
/** More than fit onto a screen; all of them would be many more. */
const maxRows = 60
/** Some take more lines than others. */
const nameOf = (index: number) =>
  `migration ${String(index).padStart(3, '0')}${index % 3 === 0 ? ' with a name of many words, which takes some lines' : ''}`

chromiumTest(
  'of many migrations only those in sight are drawn, events ask for them one time after the other, and no page leaves a subscription behind',
  async () => {
    using folder = createFolder('from', 'to')
    await using platform = await startWithUi()
    await addLocal(platform, 'here', 'source', folder.from)
    await addLocal(platform, 'there', 'target', folder.to)
    const all = Array.from({ length: count }, (_, index) => nameOf(index))
    for (const migrationId of all) mkdirSync(join(folder.from, migrationId))
    for (let from = 0; from < count; from += atOnce)
      await Promise.all(
        all.slice(from, from + atOnce).map((migrationId) =>
          platform.call(migrations.create, {
            migrationId,
            path: `/${migrationId}`,
            source: 'here',
            target: 'there',
          }),
        ),
      )
    await using browser = await openChromium()
    const { page, complaints } = await openPage(browser.context)
    const lists = { begun: 0, open: new Set<string>(), most: 0 }
    let subscriptions = 0
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => {
        const sent = payload.toString()
        subscriptions += (sent.match(/^SUB /gm) ?? []).length - (sent.match(/^UNSUB /gm) ?? []).length
        for (const [, reply] of sent.matchAll(/^H?PUB \S+\.migrations\.list (\S+)/gm)) {
          lists.begun += 1
          lists.open.add(reply!)
          lists.most = Math.max(lists.most, lists.open.size)
        }
      })
      socket.on('framereceived', ({ payload }) => {
        const received = payload.toString()
        for (const reply of lists.open) if (received.includes(reply)) lists.open.delete(reply)
      })
    })
    await signIn(page, platform, 'administrator')
    await visit(page, platform, '/migrations', 'Migrations')
    await page.getByText(`${count} rows`, { exact: true }).waitFor()
    // The beginning, and the rest.
    expect(lists.begun).toBe(2)
    expect(await page.locator('tbody tr[data-index]').count()).toBeLessThan(maxRows)
    const region = page.getByRole('region', { name: 'Migrations, rows' })
    await region.press('End')
    await page.getByRole('link', { name: all.at(-1)! }).waitFor()
    expect(await page.locator('tbody tr[data-index]').count()).toBeLessThan(maxRows)

    await Promise.all(
      all.map((migrationId) => platform.call(migrations.update, { migrationId, migrationPriority: 'HIGH' })),
    )
    await page.getByRole('searchbox', { name: 'Filter' }).fill(nameOf(7))
    await page.getByRole('cell', { name: 'high', exact: true }).waitFor()
    await until('the list is there', () => lists.open.size === 0)
    expect(lists.begun).toBeGreaterThan(2)
    expect(lists.most).toBe(1)

    // What is chosen is what one sees.
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByText('1 migration selected').waitFor()
    await page.getByRole('searchbox', { name: 'Filter' }).fill(nameOf(8))
    await page.getByRole('link', { name: nameOf(8) }).waitFor()
    await page.getByText('1 migration selected').waitFor({ state: 'detached' })

    const open: number[] = []
    for (let round = 0; round < 4; round++) {
      await visit(page, platform, `/migrations/${encodeURIComponent(nameOf(7))}`, nameOf(7))
      await visit(page, platform, '/migrations', 'Migrations')
      await visit(page, platform, '/account', 'Profile')
      open.push(subscriptions)
    }
    expect(new Set(open.slice(1)).size).toBe(1)
    expectNone(complaints)
  },
)
