import type { Argument, Command, Option } from 'commander'
import { product } from '../../subjects/kit/names.ts'
import { commandNamed } from './aliases.ts'
import type { NamePlace } from './existing-names.ts'

/** What a word can go on as, and what that means. */
export interface Candidate {
  readonly word: string
  readonly meaning: string
}

/** Name of the hidden command that the scripts of the shells ask. */
export const completeCommand = 'complete'

/**
 * What the last of the words can become, the words being what was typed after the program's name; the last one is empty
 * where a new one begins. Empty when anything may come, such as a path.
 * @param namesAt names that exist of what a place names; see `existingNames`
 */
export async function candidatesFor(
  program: Command,
  typed: readonly string[],
  namesAt: (place: NamePlace) => Promise<readonly string[]>,
): Promise<Candidate[]> {
  // Bash makes `=` a word of its own.
  const last = typed.at(-1) ?? ''
  const current = last === '=' ? '' : last
  const before = typed.slice(0, -1).filter((word) => word !== '=')
  const { command, operands, waiting } = read(program, before)
  const known = all(command, operands, waiting, current)
  const value = known.length > 0 || current.startsWith('-') ? undefined : valueAt(command, operands, waiting)
  const names = value === undefined ? [] : choices(await namesAt({ words: wordsOf(command), value }))
  return [...known, ...names].filter(({ word }) => word.startsWith(current))
}

/** What stands where the next word comes: the value of a flag, or an argument. */
const valueAt = (command: Command, operands: number, waiting: Option | undefined): string | undefined =>
  waiting?.long?.replace(/^--/, '') ?? argumentAt(command, operands)?.name()

/** The last one may be given again and again. */
function argumentAt({ registeredArguments }: Command, operands: number): Argument | undefined {
  const last = registeredArguments.at(-1)
  return registeredArguments[operands] ?? (last?.variadic ? last : undefined)
}

/** The words of a command, without the program's name. */
const wordsOf = (command: Command): string[] =>
  command.parent === null ? [] : [...wordsOf(command.parent), command.name()]

/** Where the words have led to: a command, how many of its arguments are given, and a flag that waits for its value. */
function read(program: Command, words: readonly string[]) {
  let command = program
  let operands = 0
  let waiting: Option | undefined
  for (const word of words) {
    if (waiting !== undefined) {
      waiting = undefined
    } else if (word.startsWith('-')) {
      const option = optionsOf(command).find(({ long, short }) => long === word || short === word)
      if (option?.required === true) waiting = option
    } else {
      const next = operands === 0 ? commandNamed(command, word) : undefined
      if (next === undefined) operands += 1
      command = next ?? command
    }
  }
  return { command, operands, waiting }
}

function all(
  command: Command,
  operands: number,
  waiting: Option | undefined,
  current: string,
): readonly Candidate[] {
  if (waiting !== undefined) return choices(waiting.argChoices)
  const [flag, value] = current.split('=', 2)
  const option = value === undefined ? undefined : optionsOf(command).find(({ long }) => long === flag)
  if (option !== undefined) return choices(option.argChoices?.map((choice) => `${flag}=${choice}`))
  if (current.startsWith('-')) return flags(command, current)
  if (command.commands.length === 0) return choices(argumentAt(command, operands)?.argChoices)
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ word: one.name(), meaning: one.summary() || one.description() }))
}

const choices = (words: readonly string[] = []): Candidate[] => words.map((word) => ({ word, meaning: '' }))

/** Of the command and of all above it; `--no-…` only for who types that. */
function flags(command: Command, current: string): Candidate[] {
  const help = command.createHelp()
  const visible = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
  const shown = current.startsWith('--no-') ? optionsOf(command) : visible
  return shown.flatMap(({ long, description }) => (long ? [{ word: long, meaning: description }] : []))
}

const optionsOf = (command: Command): Option[] => [
  ...command.options,
  ...(command.parent === null ? [] : optionsOf(command.parent)),
]

/** The lines that a shell reads: a word, and after a tab its meaning. */
export const candidatesText = (candidates: readonly Candidate[]): string =>
  candidates
    .map(({ word, meaning }) => (meaning === '' ? `${word}\n` : `${word}\t${meaning.split('\n')[0]}\n`))
    .join('')

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** What a shell has to source. File names are suggested where there are no candidates. @param command as it is typed in any folder */
export const completionScript = (shell: Shell, command: string): string =>
  scripts[shell](`${command} ${completeCommand} --`)

/** By what asks for candidates. Shells take them for the program's name with a path before it too. */
const scripts: Readonly<Record<Shell, (ask: string) => string>> = {
  bash: (ask) => `_${product}() {
  local word _
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do COMPREPLY+=("$word"); done \\
    < <(${ask} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _${product} ${product}
`,
  zsh: (ask) => `#compdef ${product}
_${product}() {
  local line
  local -a candidates
  for line in "\${(@f)$(${ask} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && candidates+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done
  if (( $#candidates )); then _describe ${product} candidates; else _files; fi
}
compdef _${product} ${product}
`,
  fish: (ask) => `function __${product}_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (${ask} $words[2..] 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c ${product} -f -a '(__${product}_complete)'
`,
}

/** How each is put to use, as typed. */
export const completionExamples = (command: string): readonly string[] => [
  `echo 'source <(${command} completion bash)' >> ~/.bashrc`,
  `echo 'source <(${command} completion zsh)' >> ~/.zshrc`,
  `${command} completion fish > ~/.config/fish/completions/${product}.fish`,
]
