/** All measurements, one after the other: `npm run bench`. Each is a ratio against a peer in the same run. */
import { benchAccess } from './access.ts'
import { benchBandwidth } from './bandwidth.ts'
import { benchMemory } from './memory.ts'
import { benchMigrate } from './migrate.ts'
import { benchRest } from './rest.ts'
import { benchServe } from './serve.ts'

await benchServe()
await benchRest()
await benchAccess()
await benchMigrate()
await benchMemory()
await benchBandwidth()
