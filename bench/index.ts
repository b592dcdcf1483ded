/**
 * All measurements, one after the other: `npm run bench`. Each is a ratio against a peer in the same run. It takes most of
 * an hour, and four million free inodes; each file measures its part alone.
 */
import { benchAccess } from './access.ts'
import { benchAgents } from './agents.ts'
import { benchBandwidth } from './bandwidth.ts'
import { benchEngine } from './engine.ts'
import { benchKeys } from './keys.ts'
import { benchLive } from './live.ts'
import { benchMigrate } from './migrate.ts'
import { benchRest } from './rest.ts'
import { benchScale } from './scale.ts'
import { benchServe } from './serve.ts'
import { benchStores } from './stores.ts'

await benchServe()
await benchRest()
await benchAccess()
await benchEngine()
await benchMigrate()
await benchLive()
await benchBandwidth()
await benchStores()
await benchKeys()
await benchAgents()
await benchScale()
