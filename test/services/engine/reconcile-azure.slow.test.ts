import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { Mover } from '../../../services/engine/mover.ts'
import { openAzure } from '../../support/azure-driver.ts'
import { type Passed, startInterferingProxy } from '../../support/interfering-proxy.ts'
import { createFolder } from '../../support/migrations.ts'
import { until } from '../../support/until.ts'
import { liveSpec } from './local-spec.ts'
import { changed, reconcile } from './reconcile-folder.ts'
import { sharedTargets } from './targets.ts'

/** Comparisons of live migrations with a container as their target. */

const { createContainer } = sharedTargets()
const mover = new Mover({ threads: 1, log: { error: () => undefined } })
afterAll(() => mover.close())

const everything = changed('', { scope: 'tree' })

async function createLive() {
  const folder = createFolder('from', 'to')
  const { spec: target, client } = await createContainer()
  const driver = openAzure(target.options)
  return {
    at: (name: string) => `${folder.from}/${name}`,
    put: (name: string, content: string) => driver.put(Buffer.from(name), Buffer.from(content), {}),
    target,
    spec: { ...liveSpec(folder), target },
    names: async () => (await Array.fromAsync(client.listBlobsFlat())).map(({ name }) => name).toSorted(),
    [Symbol.asyncDispose]: async () => {
      await driver.close()
      folder[Symbol.dispose]()
    },
  }
}

test.each([
  ['told', changed('', { names: ['file'] })],
  ['found', everything],
])('a file that became a link (%s) leaves no content behind, and is a failure', async (_, change) => {
  await using live = await createLive()
  writeFileSync(live.at('file'), 'old content')
  writeFileSync(live.at('other'), 'other')
  await reconcile(mover, live.spec, [everything])
  expect(await live.names()).toEqual(['file', 'other'])
  rmSync(live.at('file'))
  symlinkSync('other', live.at('file'))
  const { failures, counts } = await reconcile(mover, live.spec, [change])
  expect(failures).toMatchObject([{ path: '/file', failure: 'unsupported' }])
  expect(counts.filesRemoved).toBe(1)
  expect(await live.names()).toEqual(['other'])
})

test('what was there before the migration stays where the source has a link', async () => {
  await using live = await createLive()
  await live.put('file', 'theirs')
  symlinkSync('other', live.at('file'))
  const later = { ...live.spec, live: { startedMs: Date.now() + 60_000 } }
  const { failures } = await reconcile(mover, later, [everything])
  expect(failures).toMatchObject([{ path: '/file', failure: 'unsupported' }])
  expect(await live.names()).toEqual(['file'])
})

const marginMs = 2_000

const dates = /\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g
const dated = ['date', 'last-modified', 'x-ms-creation-time']

/** The same answer of a service whose clock is ahead of this host's. */
function shifted({ status, headers, body }: Passed, ms: number): Passed {
  const shift = (text: string) =>
    text.replaceAll(dates, (date) => new Date(Date.parse(date) + ms).toUTCString())
  const times = dated.flatMap((name) =>
    headers[name] === undefined ? [] : [[name, shift(String(headers[name]))]],
  )
  const isXml = `${headers['content-type']}`.includes('xml')
  const own = { ...headers, ...(Object.fromEntries(times) as Record<string, string>) }
  return { status, headers: own, body: isXml ? Buffer.from(shift(body.toString())) : body }
}

// Side by side: each waits for some seconds to pass.
test.concurrent.each([3_600_000, -3_600_000])(
  'what is older than the migration stays, and what it brought goes, by a clock that is %i ms ahead',
  async (aheadMs) => {
    await using live = await createLive()
    const { options } = live.target
    await using proxy = await startInterferingProxy(options.endpoint, () => ({
      after: (answer) => shifted(answer, aheadMs),
    }))
    writeFileSync(live.at('stays'), 'x')
    await live.put('older', 'theirs')
    const target = { ...live.target, options: { ...options, endpoint: proxy.endpoint } }
    // Times of the service are whole seconds, and how far its clock is ahead is known as exactly.
    const startedMs = Date.now() + marginMs
    const spec = { ...live.spec, target, live: { startedMs } }
    await until('the start is some seconds ago', () => Date.now() > startedMs + marginMs)
    writeFileSync(live.at('gone'), 'x')
    await reconcile(mover, spec, [everything])
    rmSync(live.at('gone'))
    await reconcile(mover, spec, [everything])
    expect(await live.names()).toEqual(['older', 'stays'])
  },
)
