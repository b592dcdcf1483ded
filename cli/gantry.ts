import { text } from 'node:stream/consumers'
import type { Context } from './context.ts'
import { main } from './main.ts'
import { processTerminal } from './terminal.ts'

const context: Context = {
  env: process.env,
  cwd: process.cwd(),
  terminal: processTerminal(process.env),
  readStdin: () => text(process.stdin),
  connect: async ({ server, tokenFile }) => {
    // Loaded when a command needs them: help and completion answer sooner without.
    const [{ findToken }, { openSession }] = await Promise.all([import('./token.ts'), import('./session.ts')])
    return openSession(findToken({ ...context, tokenFile }), server)
  },
  exitCode: 0,
}

process.exitCode = await main(process.argv.slice(2), context)
