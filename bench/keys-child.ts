/**
 * Lists the root of a store in a thread's driver, or compares it with itself as a verification does, and prints what that took
 * of memory. Arguments: list or compare, and the store.
 */
import { Mover } from '../services/engine/mover.ts'
import { openDriver } from '../services/drivers/index.ts'
import { encodeFolder } from '../services/engine/walk/walk-folder.ts'
import type { FilesystemSpec } from '../subjects/filesystems/kinds.ts'

const [what, text = ''] = process.argv.slice(2)
const store = JSON.parse(text) as FilesystemSpec
const { signal } = new AbortController()
const root = Buffer.alloc(0)
let keys = 0

async function list(): Promise<void> {
  const driver = await openDriver(store, 'source')
  for await (const { entries } of driver.list(root, signal)) keys += entries.length
  await driver.close()
}

async function compare(): Promise<void> {
  await using mover = new Mover({
    threads: 1,
    log: { error: (fields) => process.stderr.write(JSON.stringify(fields)) },
  })
  const spec = { id: 'keys', generation: 1, root, source: store, target: store, policy: 'Overwrite' } as const
  const take = async ({ counts }: { counts: Readonly<Record<string, number>> }) => {
    keys += counts['filesOnTarget'] ?? 0
  }
  await mover.compare(spec, { level: 'size' }, [encodeFolder({ path: root, side: 'both' })], take, signal)
}

const started = performance.now()
await (what === 'list' ? list() : compare())
const seconds = (performance.now() - started) / 1_000
const highestMb = process.resourceUsage().maxRSS / 1_024
process.stdout.write(`${JSON.stringify({ keys, seconds, highestMb })}\n`)
