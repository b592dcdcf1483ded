import { Mover } from '../../../services/engine/mover.ts'
import { drive } from './drive.ts'
import { localSpec } from './local-spec.ts'

/** Moves a folder to another, and prints a line with every item that it copies: a process to be killed. */
const [id = '', from = '', to = ''] = process.argv.slice(2)
await using mover = new Mover({
  threads: 2,
  log: { error: (fields) => process.stderr.write(JSON.stringify(fields)) },
})
await drive(mover, localSpec({ from, to }, { id }), {
  redelivered: true,
  beforeTransfer: () => process.stdout.write('item\n'),
})
