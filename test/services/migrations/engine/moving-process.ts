import { Mover } from '../../../../services/migrations/engine/mover.ts'
import { drive } from './drive.ts'

/** Moves a folder to another, and prints a line with every item that it copies: a process to be killed. */
const [id = '', from = '', to = ''] = process.argv.slice(2)
await using mover = new Mover({
  threads: 2,
  log: { error: (fields) => process.stderr.write(JSON.stringify(fields)) },
})
const spec = {
  id,
  generation: 1,
  root: new Uint8Array(0),
  source: { kind: 'local', options: { fsRoot: from } },
  target: { kind: 'local', options: { fsRoot: to } },
  policy: 'Overwrite',
} as const
await drive(mover, spec, { redelivered: true, beforeTransfer: () => process.stdout.write('item\n') })
