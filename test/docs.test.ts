import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { createContext } from '../cli/context.ts'
import { createProgram } from '../cli/program.ts'
import { product } from '../subjects/kit/names.ts'
import { root, testTerminal } from './cli/support.ts'
import { shellWords } from '../subjects/kit/shell-word.ts'
import { shellCommands } from './support/shell-words.ts'

const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))].filter(
  (name) => name.endsWith('.md'),
)
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

/** Commands of examples that extensions have. */
const ofExtensions = ['weather', 'hdfs-inotify']

/** Commands whose output is a part of another one. */
const inner = (command: string): string[] => [...command.matchAll(/\$\(([^)]*)\)/g)].map(([, own]) => own!)

/** The words of each call of our command line in a page, without the program's name. */
function callsIn(page: string): string[][] {
  const blocks = [...textOf(page).matchAll(/^ *```(?:sh|console)\n([\s\S]*?)^ *```/gm)]
  return blocks
    .flatMap(([, script]) => shellCommands(script!.replaceAll(/^\$ /gm, '')))
    .flatMap((command) => [command.replaceAll(/\$\([^)]*\)/g, '…'), ...inner(command)])
    .flatMap((command) => command.split(/ (?:&&|\||>) /))
    .map((command) => shellWords(command.replace(/^(?:[A-Z_]+=\S+ )+/, '').replace(/^\.\//, '')))
    .filter(([program, first]) => program === product && !ofExtensions.includes(first!))
    .map(([, ...words]) => words.map((word) => (word === '…' ? '7' : word)))
}

/** Why a command line is wrong; undefined where it is not. */
async function wrongIn(words: readonly string[]): Promise<string | undefined> {
  const surroundings = { env: {}, cwd: root, terminal: testTerminal(), readStdin: () => Promise.resolve('') }
  const program = createProgram(createContext(surroundings))
  const unable = (command: typeof program): void => {
    command.action(() => undefined)
    command.commands.forEach(unable)
  }
  program.commands.forEach(unable)
  try {
    await program.parseAsync(words, { from: 'user' })
    return undefined
  } catch (error) {
    return `${words.join(' ')}: ${(error as Error).message}`
  }
}

test.for(pages)('%s: its commands have the words and flags that it says', async (page) => {
  const wrong = await Promise.all(callsIn(page).map(wrongIn))
  expect(wrong.filter((one) => one !== undefined)).toEqual([])
})

/** Names of the headings of a page, as links have them. */
const anchorsOf = (page: string): string[] =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

test.for(pages)('%s: its links lead somewhere', (page) => {
  const prose = textOf(page).replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!)
  const wrong = links
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? page : relative(root, join(root, dirname(page), path))
      if (!existsSync(join(root, file))) return true
      return anchor !== undefined && !anchorsOf(file).includes(anchor)
    })
  expect(wrong).toEqual([])
})
