import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { Victim } from '../crash/victim.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { asOrdinaryUser, isRoot, ordinaryUser, whyNotRunnable } from '../support/ordinary-user.ts'
import { createHome, natsServerPath } from '../support/platform.ts'
import { testUnless } from '../support/unless.ts'
import { until } from '../support/until.ts'

const notRunnable = whyNotRunnable(fileURLToPath(new URL('../../cli/gantry.ts', import.meta.url)))

/** Makes it that user's who is denied something. */
const give = (path: string) => {
  if (isRoot) chownSync(path, ordinaryUser, ordinaryUser)
}

/** A platform of that user's, which root's nats-server is copied for. */
let platform: Victim
beforeAll(async () => {
  if (notRunnable !== undefined) return
  const home = await createHome()
  const natsServer = join(home, 'nats-server')
  copyFileSync(await natsServerPath(), natsServer)
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) give(join(home, name))
  give(home)
  platform = new Victim(home, { HOME: home, NATS_SERVER: natsServer }, asOrdinaryUser)
  await platform.start()
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  if (platform !== undefined) rmSync(platform.home, { recursive: true })
})

let count = 0

/** A live migration of a folder `closed/q/r` with files, and a file with two names. */
async function createLive() {
  const folder = createFolder('source', 'target')
  chmodSync(folder.root, 0o755)
  const at = (path: string) => join(folder.source, path)
  const there = (path: string) => join(folder.target, path)
  for (const path of ['closed/file', 'closed/q/file', 'closed/q/r/file']) {
    mkdirSync(at(dirname(path)), { recursive: true })
    writeFileSync(at(path), `content of ${path}`)
    give(at(path))
  }
  writeFileSync(at('one'), 'x')
  linkSync(at('one'), at('other'))
  for (const path of [at('one'), at(''), there(''), at('closed'), at('closed/q'), at('closed/q/r')])
    give(path)
  const migrationId = `live-${++count}`
  const [source, target] = [`${migrationId}-source`, `${migrationId}-target`]
  await addLocal(platform, source, 'source', folder.source)
  await addLocal(platform, target, 'target', folder.target)
  const options = { migrationId, source, target, path: '/', scanOnlyMigration: false, autoStart: true }
  await platform.call(migrations.create, options)
  const get = () => platform.call(migrations.get, { migrationId })
  const differences = () => compareTrees(folder.source, folder.target)
  return {
    at,
    there,
    /** Whoever writes to a file with another name has everything compared. */
    compare: () => appendFileSync(at('one'), 'x'),
    /** The paths that have failed, each at the source. */
    failed: async () => {
      const { failedPaths } = await platform.call(migrations.failures, { migrationId })
      for (const { path, failureMessage } of failedPaths) expect(failureMessage, path).toMatch(/^source: /)
      return failedPaths.map(({ path }) => path)
    },
    untilEqual: () =>
      until('all has arrived, and nothing is left to do', async () => {
        const { state, changeLagSeconds, failedPathCount } = await get()
        const isQuiet = state === 'LIVE' && changeLagSeconds === 0 && failedPathCount === 0
        return isQuiet && differences().length === 0
      }),
    [Symbol.asyncDispose]: async () => {
      await platform.call(migrations.stop, { migrationId })
      await until('it is stopped', async () => (await get()).state === 'STOPPED')
      folder[Symbol.dispose]()
    },
  }
}

for (const [closed, mode] of [
  ['closed', 0o000],
  ['closed', 0o300],
  ['closed', 0o444],
  ['closed/q', 0o000],
] as const)
  testUnless(
    notRunnable,
    `a folder (${closed}) that was ${mode.toString(8)} while it was compared arrives when it is open again`,
    async () => {
      await using live = await createLive()
      const { at, there } = live
      await live.untilEqual()
      // Nobody watches the target: only a comparison finds that.
      rmSync(there('closed/q/r/file'))
      chmodSync(at(closed), mode)
      await until('the target has the mode', () => (statSync(there(closed)).mode & 0o777) === mode)
      live.compare()
      await until('it has failed', async () => (await live.failed()).includes(`/${closed}`))
      chmodSync(at(closed), 0o755)
      await live.untilEqual()
    },
  )

testUnless(
  notRunnable,
  'what was missed as all of the source was closed arrives when it is open again',
  async () => {
    await using live = await createLive()
    await live.untilEqual()
    const file = openSync(live.at('closed/file'), 'a')
    chmodSync(live.at(''), 0o000)
    appendFileSync(file, ' and more')
    closeSync(file)
    await until('it has failed', async () => (await live.failed()).length > 0)
    chmodSync(live.at(''), 0o755)
    await live.untilEqual()
  },
)
