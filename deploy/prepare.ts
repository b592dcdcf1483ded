// Run once where Gantry is installed, in an image or on a host: what a start would otherwise make or fetch, in folders that it
// may not write to. Its argument is the file that nats-server is to be in.
import { copyFile, mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { bundleSchemas } from '../cli/bundled-schemas.mjs'
import { findNatsServer } from '../broker/server/nats-server.ts'
import { buildUi } from '../ui/build/build.ts'

const [, , natsServer] = process.argv
if (natsServer === undefined)
  throw new Error('name the file that nats-server is to be in, such as /usr/local/bin/nats-server')

const say = (text: string) => void process.stderr.write(`${text}\n`)
await buildUi(say)
await bundleSchemas()
const log = { info: (_: object, text: string) => say(text), warn: (_: object, text: string) => say(text) }
const { path } = await findNatsServer({ log })
await mkdir(dirname(natsServer), { recursive: true })
// One that runs can be replaced, but not written to.
await copyFile(path, `${natsServer}.new`)
await rename(`${natsServer}.new`, natsServer)
