/**
 * The web interface as it is built, in a real Chromium, on a real platform: `node bench/ui.ts [part of a name …]`, such as
 * `migrations`, `events`, `memory` or `Lighthouse`. GANTRY_UI_MIGRATIONS (10000), GANTRY_UI_MINUTES (10) of the live
 * migration whose page is left open. There is no peer that does the same: the figures are those of this machine.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import lighthouse, { desktopConfig } from 'lighthouse'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { connectAs } from '../broker/rpc/platform-connection.ts'
import { emission, Events } from '../broker/state/events.ts'
import { loadPlatformConfig } from '../config/platform.ts'
import { settings } from '../subjects/access/settings.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { uiPath } from '../subjects/kit/names.ts'
import { migrationEvents } from '../subjects/migrations/events.ts'
import { migrations } from '../subjects/migrations/migrations.ts'
import { openChromium } from '../test/support/chromium.ts'
import { freePort, testLog } from '../test/support/platform.ts'
import { startChild } from './child.ts'
import { type Figure, median, print } from './figures.ts'
import { untilApplied } from './live.ts'

const count = Number(process.env['GANTRY_UI_MIGRATIONS'] ?? 10_000)
const minutes = Number(process.env['GANTRY_UI_MINUTES'] ?? 10)
const loads = 5
/** Migrations that are made at the same time, and calls that change some. */
const atOnce = 64
/** How long events come while somebody types. */
const typingMs = 20_000
/** Events of progress, in so many parts. */
const eventsPerSecond = 1_000
const partsOfSecond = 50
/** Between two keys: somebody who types fast. */
const keyMs = 60
/** Ends what hangs. */
const patienceMs = 180_000
const migrationId = 'live'

/** A platform of the bench's own, with a folder for its stores. */
interface Place {
  /** Its configuration folder. */
  readonly home: string
  readonly url: string
  /** Of the broker. */
  readonly tcpUrl: string
  readonly password: string
  readonly root: string
  readonly connection: NatsConnection
}

async function withPlatform<T>(work: (place: Place) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
  await using platform = await startChild('platform.mjs', ['ui'])
  const { home, httpUrls, tcpUrl, operatorToken, developmentPasswords } = JSON.parse(platform.line) as {
    home: string
    httpUrls: { platform: string }
    tcpUrl: string
    operatorToken: string
    developmentPasswords: { administrator: string }
  }
  const connection = await connectWithToken(tcpUrl, operatorToken)
  try {
    const { administrator: password } = developmentPasswords
    return await work({ home, tcpUrl, url: httpUrls.platform, password, root, connection })
  } finally {
    await connection.close()
    rmSync(root, { recursive: true, force: true })
  }
}

/** Two folders, known as `source` and `target`. */
async function addStores({ connection, root }: Place): Promise<void> {
  for (const role of ['source', 'target'] as const) {
    mkdirSync(join(root, role))
    const input = { fileSystemId: role, role, fsRoot: join(root, role) }
    await call(connection, filesystems['create-local'], input)
  }
}

/** Does something for each number below a limit, some of them at the same time. */
async function forAll(limit: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < limit) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

const nameOf = (index: number) => `migration ${String(index).padStart(5, '0')}`

/** So many migrations that nobody has started, each of a folder of its own. */
async function addMigrations(place: Place): Promise<void> {
  await addStores(place)
  const { connection, root } = place
  await call(connection, settings.put, { maxMigrations: count })
  for (let index = 0; index < count; index++) mkdirSync(join(root, 'source', nameOf(index)))
  await forAll(count, async (index) => {
    if (index % 1_000 === 0) process.stderr.write(`${index} migrations made\n`)
    await call(connection, migrations.create, {
      migrationId: nameOf(index),
      path: `/${nameOf(index)}`,
      source: 'source',
      target: 'target',
      scanOnlyMigration: true,
    })
  })
}

async function signIn(page: Page, { url, password }: Place): Promise<void> {
  page.setDefaultTimeout(patienceMs)
  // Beside much other work the development provider may answer too late: whoever signs in tries again.
  do await page.goto(`${url}/login`)
  while ((await page.locator('#name').count()) === 0)
  await page.fill('#name', 'administrator')
  await page.fill('#password', password)
  await page.click('button')
  await page.waitForURL(`${url}${uiPath}`)
  await shown(page, 'Home')
}

/** Until a page has what it asks for. */
async function shown(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
  await page.locator('main[aria-busy=false]').waitFor()
}

/**
 * Notes in the page itself when what a selector names is there first, and painted: `window.seen` resolves to the milliseconds
 * since the navigation began, or since the click before.
 */
const watchFor = (selector: string) => `
  window.clicked = 0
  addEventListener('click', () => { window.clicked = performance.now() }, { capture: true, once: true })
  window.seen = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) requestAnimationFrame(look)
      else requestAnimationFrame(() => resolve(performance.now() - window.clicked))
    }
    look()
  })
  undefined`

const seenMs = (page: Page) => page.evaluate<number>('window.seen')

/** Begins to note long tasks, long frames and slow answers to keys. */
const watchWork = `
  window.slow = { tasks: [0], frames: [0], events: [0] }
  const kinds = { longtask: 'tasks', 'long-animation-frame': 'frames', event: 'events' }
  for (const [type, kind] of Object.entries(kinds))
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries())
        if (type !== 'event' || /^(key|input|beforeinput)/.test(name)) window.slow[kind].push(duration)
    }).observe({ type, durationThreshold: 16 })
  let last = performance.now()
  window.gaps = []
  const beat = (now) => {
    window.gaps.push(now - last)
    last = now
    requestAnimationFrame(beat)
  }
  requestAnimationFrame(beat)`

interface Slow {
  readonly tasks: readonly number[]
  readonly frames: readonly number[]
  readonly events: readonly number[]
  readonly gaps: readonly number[]
}

const slowOf = (page: Page) => page.evaluate<Slow>('({ ...window.slow, gaps: window.gaps })')

const ms = (value: number) => `${value.toFixed(0)} ms`

/** What a browser loads that has been here never, and how long that takes it. */
async function firstLoad(): Promise<Figure[]> {
  return withPlatform(async (place) => {
    await using browser = await openChromium()
    await signIn(await browser.context.newPage(), place)
    const storageState = await browser.context.storageState()
    const all: { bytes: number; shownMs: number; usableMs: number; requests: number }[] = []
    for (let load = 0; load < loads; load++) {
      const context = await browser.context.browser()!.newContext({ storageState })
      all.push(await loadOnce(context, place))
      await context.close()
    }
    const { bytes, requests } = all[0]!
    return [
      {
        name: 'first load, compressed with brotli, all contracts of the first page included',
        value: `${(bytes / 1_000).toFixed(0)} kB`,
        aim: '≤ 300 kB',
        details: `${requests} requests`,
      },
      {
        name: 'until the first page is usable: all that it asks for is answered',
        value: ms(median(all.map(({ usableMs }) => usableMs))),
        aim: '≤ 1,000 ms',
        details: `its heading after ${ms(median(all.map(({ shownMs }) => shownMs)))}; median of ${loads} browsers that have nothing in their cache`,
      },
    ]
  })
}

async function loadOnce(context: BrowserContext, { url }: Place) {
  const page = await context.newPage()
  const sizes: Promise<number>[] = []
  page.on('requestfinished', (request) =>
    sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize)),
  )
  await page.addInitScript(watchFor('main[aria-busy=false] h1'))
  await page.addInitScript(`
    const lookForHeading = () => {
      if (document.querySelector('h1') === null) requestAnimationFrame(lookForHeading)
      else window.heading = performance.now()
    }
    lookForHeading()`)
  await page.goto(`${url}${uiPath}`)
  await shown(page, 'Home')
  const usableMs = await seenMs(page)
  const shownMs = await page.evaluate<number>('window.heading')
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  return { bytes, shownMs, usableMs, requests: sizes.length }
}

const firstRow = 'tr[data-index="0"]'
const rowsRegion = 'Migrations, rows'

/** Many migrations in one table: until its first rows are there, and how it scrolls; then what events cost. */
async function manyMigrations(): Promise<Figure[]> {
  return withPlatform(async (place) => {
    const began = performance.now()
    await addMigrations(place)
    process.stderr.write(
      `${count} migrations made in ${((performance.now() - began) / 1_000).toFixed(0)} s\n`,
    )
    await using browser = await openChromium()
    const page = await browser.context.newPage()
    await signIn(page, place)
    const firstMs: number[] = []
    const allMs: number[] = []
    for (let load = 0; load < loads; load++) {
      // What is known of before would be there at once.
      await page.goto(`${place.url}${uiPath}`)
      await shown(page, 'Home')
      await page.evaluate(watchFor(firstRow))
      await page.getByRole('navigation', { name: 'Pages' }).getByText('Migrations', { exact: true }).click()
      firstMs.push(await seenMs(page))
      await page.getByText(`${count.toLocaleString('en')} rows`).waitFor()
      allMs.push(await page.evaluate<number>('performance.now() - window.clicked'))
    }
    await shown(page, 'Migrations')
    process.stderr.write(`first rows ${firstMs.map(ms).join(', ')}, all rows ${allMs.map(ms).join(', ')}\n`)
    const scrolled = await scroll(page)
    process.stderr.write(`longest frame ${ms(Math.max(...scrolled.gaps))}\n`)
    return [
      {
        name: `${count.toLocaleString('en')} migrations: first rows after the click`,
        value: ms(median(firstMs)),
        aim: '≤ 300 ms',
        details: `all rows after ${ms(median(allMs))}; median of ${loads}; ${firstMs.map(ms).join(', ')}`,
      },
      {
        name: 'scrolling through them: longest frame',
        value: ms(Math.max(...scrolled.gaps)),
        aim: '≤ 50 ms',
        details: `of ${scrolled.gaps.length}; longest task ${ms(Math.max(...scrolled.tasks))}`,
      },
      await typing(page, 'changes', changes(place)),
      await typing(page, 'events of progress', progress(place)),
    ]
  })
}

/** Turns a wheel for a while, then goes to the end at once. */
async function scroll(page: Page): Promise<Slow> {
  const region = page.getByRole('region', { name: rowsRegion })
  await region.hover()
  await page.evaluate(watchWork)
  for (let turn = 0; turn < 300; turn++) await page.mouse.wheel(0, 400)
  await region.press('End')
  await page.locator(`tr[data-index="${count - 1}"]`).waitFor()
  return slowOf(page)
}

/** Somebody types into the filter while events come. @param come begins with them; resolves to how many came a second */
async function typing(
  page: Page,
  what: string,
  come: (signal: AbortSignal) => Promise<number>,
): Promise<Figure> {
  await page.reload()
  await page.getByText(`${count.toLocaleString('en')} rows`).waitFor()
  const over = new AbortController()
  const coming = come(over.signal)
  const field = page.getByRole('searchbox', { name: 'Filter' })
  await page.evaluate(watchWork)
  const began = performance.now()
  while (performance.now() - began < typingMs) {
    await field.press(
      ['1', '2', 'Backspace', 'Backspace'][Math.floor((performance.now() - began) / keyMs) % 4]!,
    )
    await delay(keyMs)
  }
  const slow = await slowOf(page)
  over.abort()
  const perSecond = await coming
  return {
    name: `${perSecond.toFixed(0)} ${what} a second: slowest answer to a key in the page`,
    value: ms(Math.max(...slow.events)),
    aim: '≤ 100 ms at 1,000/s',
    details: `longest task ${ms(Math.max(...slow.tasks))}, longest frame ${ms(Math.max(...slow.frames))}; ${typingMs / 1_000} s beside ${count.toLocaleString('en')} migrations`,
  }
}

/** Changes migrations as fast as the platform lets them be changed. */
const changes =
  ({ connection }: Place) =>
  async (signal: AbortSignal): Promise<number> => {
    const began = performance.now()
    let next = 0
    const change = async () => {
      while (!signal.aborted) {
        const index = next++
        await call(connection, migrations.update, {
          migrationId: nameOf(index % count),
          migrationPriority: index % (2 * count) < count ? 'HIGH' : 'NORMAL',
        })
      }
    }
    await Promise.all(Array.from({ length: atOnce }, change))
    return (1_000 * next) / (performance.now() - began)
  }

/** Tells of progress as the platform does where so many migrations run: each once a second, in equal parts of it. */
const progress =
  ({ home, tcpUrl, connection }: Place) =>
  async (signal: AbortSignal): Promise<number> => {
    const limits = { maxMemBytes: 64 * 2 ** 20, maxFileBytes: 2 ** 30 }
    const { identity } = await loadPlatformConfig(home, limits, testLog)
    await using platform = await connectAs('PLATFORM', { url: tcpUrl, identity, name: 'bench' })
    const events = await Events.open(platform, limits)
    const info = await call(connection, migrations.progress, { migrationId: nameOf(0) })
    const began = performance.now()
    let told = 0
    while (!signal.aborted) {
      while (told < ((performance.now() - began) * eventsPerSecond) / 1_000) {
        const id = nameOf(told++ % Math.min(count, eventsPerSecond))
        const filesScanned = told
        const its = { ...info, id, progress: { ...info.progress, filesScanned } }
        events.publishEphemeral(emission(migrationEvents.progressed, id, its))
      }
      await delay(1_000 / partsOfSecond)
    }
    return (1_000 * told) / (performance.now() - began)
  }

/** Bytes of the page's objects when all that nobody has any more is gone. */
async function heapBytes(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  return (await devtools.send('Runtime.getHeapUsage')).usedSize
}

/** MB an hour by which figures grow that were taken a minute apart: the slope of the line through them. */
function slopeMbPerHour(bytes: readonly number[]): number {
  const middle = (bytes.length - 1) / 2
  const mean = bytes.reduce((sum, one) => sum + one, 0) / bytes.length
  const [above, below] = bytes.reduce(
    ([covariance, variance], one, index) => [
      covariance + (index - middle) * (one - mean),
      variance + (index - middle) ** 2,
    ],
    [0, 0],
  )
  return (above / below) * 60e-6
}

async function startLive(place: Place): Promise<void> {
  await addStores(place)
  await call(place.connection, migrations.create, {
    migrationId,
    path: '/',
    source: 'source',
    target: 'target',
    scanOnlyMigration: false,
    autoStart: true,
  })
}

/** Leaves the page of a live migration open while its source changes. */
async function memory(): Promise<Figure[]> {
  return withPlatform(async (place) => {
    const { connection, root } = place
    await startLive(place)
    await untilApplied(connection, migrationId)
    await using browser = await openChromium()
    const page = await browser.context.newPage()
    await signIn(page, place)
    await page.goto(`${place.url}${uiPath}/migrations/${migrationId}`)
    await shown(page, migrationId)
    const devtools = await browser.context.newCDPSession(page)
    let changes = 0
    const bytes: number[] = []
    for (let minute = 0; minute <= minutes; minute++) {
      // The first minute fills what is kept: charts, compiled code.
      const endMs = performance.now() + 60_000
      while (performance.now() < endMs) {
        appendFileSync(join(root, 'source', `${changes++ % 1_000}`), 'change\n')
        await delay(20)
      }
      bytes.push(await heapBytes(devtools))
      process.stderr.write(`minute ${minute}: ${(bytes.at(-1)! / 1e6).toFixed(2)} MB\n`)
    }
    const [first, last] = [bytes[0]!, bytes.at(-1)!]
    return [
      {
        name: `heap of the page of a live migration, ${minutes} minutes later ÷ after the first`,
        value: (last / first).toFixed(2),
        aim: 'flat',
        details: `${(first / 1e6).toFixed(2)} and ${(last / 1e6).toFixed(2)} MB, ${slopeMbPerHour(bytes).toFixed(2)} MB an hour by the line through all; ${(changes / (minutes + 1) / 60).toFixed(0)} changes a second`,
      },
    ]
  })
}

const examined = {
  'sign-in': '/login',
  Home: uiPath,
  Migrations: `${uiPath}/migrations`,
  'one migration': `${uiPath}/migrations/${migrationId}`,
  Stores: `${uiPath}/stores`,
  'API keys': `${uiPath}/account/keys`,
  Metrics: `${uiPath}/metrics`,
  'Audit log': `${uiPath}/administration/audit`,
} as const
const aims = { performance: 0.95, accessibility: 1, 'best-practices': 1 } as const

/** What Lighthouse says of the main pages, on a desktop and on the slow telephone that it has for all others. */
async function lighthouseScores(): Promise<Figure[]> {
  return withPlatform(async (place) => {
    await startLive(place)
    const port = await freePort()
    await using browser = await openChromium([`--remote-debugging-port=${port}`])
    const page = await browser.context.newPage()
    await signIn(page, place)
    const cookie = (await browser.context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
    const figures: Figure[] = []
    for (const [name, path] of Object.entries(examined))
      for (const device of ['desktop', 'mobile'] as const) {
        const result = await lighthouse(
          `${place.url}${path}`,
          {
            port,
            output: 'json',
            logLevel: 'error',
            onlyCategories: Object.keys(aims),
            ...(name !== 'sign-in' && { extraHeaders: { cookie } }),
          },
          device === 'desktop' ? desktopConfig : undefined,
        )
        const { categories, audits } = result!.lhr
        const scores = Object.keys(aims).map((id) => categories[id]!.score ?? 0)
        const failed = Object.keys(aims).flatMap((id) =>
          categories[id]!.auditRefs.filter(
            ({ id: audit, weight }) => weight > 0 && (audits[audit]!.score ?? 1) < 0.9,
          ).map(({ id: audit }) => `${audit} ${audits[audit]!.displayValue ?? ''}`),
        )
        figures.push({
          name: `Lighthouse, ${name}, ${device}: performance, accessibility, best practices`,
          value: scores.map((score) => Math.round(score * 100)).join(', '),
          aim: Object.values(aims)
            .map((score) => `${score * 100}`)
            .join(', '),
          details: failed.join('; ') || 'nothing to mend',
        })
        process.stderr.write(`${figures.at(-1)!.name}: ${figures.at(-1)!.value} ${failed.join('; ')}\n`)
      }
    return figures
  })
}

const parts: Readonly<Record<string, () => Promise<Figure[]>>> = {
  'first load': firstLoad,
  'migrations and events': manyMigrations,
  memory: memory,
  Lighthouse: lighthouseScores,
}

/** @param wanted parts of the names of what is to be measured; all without any */
export async function benchUi(wanted: readonly string[] = []): Promise<void> {
  for (const [name, measure] of Object.entries(parts))
    if (wanted.length === 0 || wanted.some((part) => name.includes(part)))
      print(`Web interface: ${name}`, await measure())
}

if (import.meta.main) await benchUi(process.argv.slice(2))
