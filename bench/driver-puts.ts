/**
 * What a driver alone takes for small objects, as bare-puts.ts tells it for the barest client: puts objects of 4 KiB from memory,
 * with the times and the checksums that those of a migration have. Prints seconds and its own seconds of processor as JSON, and
 * ends. Arguments: the filesystem as JSON, number of objects, requests at once.
 */
import { loopback } from '../subjects/kit/names.ts'
import type { FilesystemSpec } from '../subjects/filesystems/kinds.ts'
import { createBounds } from '../services/drivers/contract/bounds.ts'
import { openDriver } from '../services/drivers/index.ts'

const [spec = '', count = '0', atOnce = '1'] = process.argv.slice(2)
const body = Buffer.alloc(4_096, 'content ')
const bounds = createBounds([], { roots: undefined, hosts: [loopback] })
const driver = await openDriver(JSON.parse(spec) as FilesystemSpec, 'target', bounds)
const paths = Array.from({ length: Number(count) }, (_, index) =>
  Buffer.from(`${index % 50}/file-${index}`),
).values()
const modifiedMs = Date.now()
const started = performance.now()
const before = process.cpuUsage()
const lane = async () => {
  for (const path of paths) await driver.put(path, body, { modifiedMs })
}
await Promise.all(Array.from({ length: Number(atOnce) }, lane))
const { user, system } = process.cpuUsage(before)
const result = { seconds: (performance.now() - started) / 1_000, processorSeconds: (user + system) / 1e6 }
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)
