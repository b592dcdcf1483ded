import type { Argument, CommandNode, Flag, NameList, Value } from './tree.ts'

/** What a word can go on as, and what that means. */
export interface Candidate {
  readonly word: string
  readonly meaning: string
}

/** Where the words have led to. */
interface Place {
  /** The command, and those that it is below, from the program on. */
  readonly path: readonly [CommandNode, ...CommandNode[]]
  /** How many of its arguments are given. */
  readonly operands: number
  /** The flag that waits for its value. */
  readonly waiting: Flag | undefined
}

/**
 * What the last of the words can become, the words being what was typed after the program's name; the last one is empty
 * where a new one begins. Empty when anything may come, such as a path.
 * @param namesOf names that a list has
 */
export async function candidatesFor(
  program: CommandNode,
  typed: readonly string[],
  namesOf: (list: NameList) => Promise<readonly string[]>,
): Promise<Candidate[]> {
  const last = typed.at(-1) ?? ''
  // Bash makes `=` a word of its own.
  const current = last === '=' ? '' : last
  const place = placeAfter(program, typed.slice(0, -1))
  const known = candidatesAt(place, current)
  const list = known.length > 0 || current.startsWith('-') ? undefined : valueAt(place)?.list
  const names = list === undefined ? [] : choices(await namesOf(list))
  return [...known, ...names].filter(({ word }) => word.startsWith(current))
}

/** The first word that is no command of the program: an extension may have it. */
export function foreignWord(program: CommandNode, typed: readonly string[]): string | undefined {
  const words = typed.slice(0, -1)
  const index = words.findIndex((_, at) => placeAfter(program, words.slice(0, at + 1)).operands > 0)
  return index >= 0 && placeAfter(program, words.slice(0, index)).path.length === 1 ? words[index] : undefined
}

/** The value of a flag that was typed before the last word. */
export function valueOf(typed: readonly string[], flag: string): string | undefined {
  const words = withoutEquals(typed.slice(0, -1))
  const at = words.lastIndexOf(flag)
  return at < 0 ? undefined : words[at + 1]
}

const withoutEquals = (words: readonly string[]) => words.filter((word) => word !== '=')

function placeAfter(program: CommandNode, words: readonly string[]): Place {
  let path: Place['path'] = [program]
  let operands = 0
  let waiting: Flag | undefined
  for (const word of withoutEquals(words)) {
    if (waiting !== undefined) {
      waiting = undefined
    } else if (word.startsWith('-')) {
      const flag = flagsOf(path).find(({ long, short }) => long === word || short === word)
      if (flag?.takesValue === true) waiting = flag
    } else {
      const next = operands === 0 ? commandNamed(path.at(-1)!, word) : undefined
      if (next === undefined) operands += 1
      // What follows `help` is the line of a command.
      else if (next.name !== 'help') path = [...path, next]
    }
  }
  return { path, operands, waiting }
}

const commandNamed = ({ commands }: CommandNode, word: string): CommandNode | undefined =>
  commands.find(({ name, aliases }) => name === word || aliases.includes(word))

/** What stands where the next word comes: the value of a flag, or an argument. */
const valueAt = ({ path, operands, waiting }: Place): Value | undefined =>
  waiting ?? argumentAt(path.at(-1)!, operands)

/** The last one may be given again and again. */
function argumentAt({ arguments: all }: CommandNode, operands: number): Argument | undefined {
  const last = all.at(-1)
  return all[operands] ?? (last?.isVariadic === true ? last : undefined)
}

function candidatesAt(place: Place, current: string): readonly Candidate[] {
  if (place.waiting !== undefined) return choices(place.waiting.choices)
  const flags = flagsOf(place.path)
  const [typed, value] = current.split('=', 2)
  const flag = value === undefined ? undefined : flags.find(({ long }) => long === typed)
  if (flag !== undefined) return choices(flag.choices?.map((choice) => `${typed}=${choice}`))
  if (current.startsWith('-'))
    return (
      flags
        // `--no-…` only for those who type that.
        .filter(({ isHidden }) => isHidden !== true || current.startsWith('--no-'))
        .map(({ long, meaning }) => ({ word: long, meaning }))
    )
  const { commands } = place.path.at(-1)!
  if (commands.length === 0) return choices(valueAt(place)?.choices)
  return commands.map(({ name, meaning }) => ({ word: name, meaning }))
}

/** Of a command and of all above it, its own first. */
const flagsOf = (path: Place['path']): Flag[] => path.toReversed().flatMap(({ flags }) => flags)

const choices = (words: readonly string[] = []): Candidate[] => words.map((word) => ({ word, meaning: '' }))

/** The lines that a shell reads: a word, and after a tab its meaning. */
export const candidatesText = (candidates: readonly Candidate[]): string =>
  candidates
    .map(({ word, meaning }) => (meaning === '' ? `${word}\n` : `${word}\t${meaning.split('\n')[0]}\n`))
    .join('')
