import { openDriver } from '../../../services/drivers/index.ts'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'

/** Lists the root of a store, and says how many entries there were, and whether each name came once and in order. */
const spec = JSON.parse(process.argv[2]!) as FilesystemSpec
const driver = await openDriver(spec, 'source')
let [entries, isInOrder, last] = [0, true, '']
for await (const page of driver.list(Buffer.alloc(0), new AbortController().signal))
  for (const { name } of page.entries) {
    const text = name.toString()
    isInOrder &&= text > last
    last = text
    entries++
  }
await driver.close()
process.stdout.write(JSON.stringify({ entries, isInOrder }))
