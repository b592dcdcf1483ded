import { text } from 'node:stream/consumers'
import { createContext } from './context.ts'
import { main } from './main.ts'
import { processTerminal } from './terminal.ts'

const { env } = process

process.exitCode = await main(
  process.argv.slice(2),
  createContext({
    env,
    cwd: process.cwd(),
    terminal: processTerminal(env),
    readStdin: () => text(process.stdin),
  }),
)
