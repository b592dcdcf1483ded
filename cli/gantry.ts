import { text } from 'node:stream/consumers'
import { createContext } from './context.ts'
import { main } from './main.ts'
import { processTerminal } from './output/terminal.ts'
import { programFolder } from './program-folder.ts'

const { env } = process
const cwd = process.cwd()
const folder = programFolder()

const code = await main(
  process.argv.slice(2),
  createContext({
    env,
    cwd,
    folder,
    terminal: processTerminal(folder, { env, cwd }),
    readStdin: () => text(process.stdin),
  }),
)

// Once all is written; what a start that failed has left open must not keep the process.
process.stdout.write('', () => process.exit(code))
