import type { Command } from 'commander'
import { verbOf } from '../../subjects/kit/contract.ts'
import { contracts } from '../../subjects/index.ts'

/**
 * Words that people try for a verb: the first of the verbs that a resource has is also called by those of the words that
 * mean nothing else there.
 */
const synonyms: readonly { readonly verbs: readonly string[]; readonly words: readonly string[] }[] = [
  { verbs: ['list'], words: ['ls'] },
  { verbs: ['get', 'show'], words: ['show', 'get', 'describe'] },
  { verbs: ['put'], words: ['set'] },
  { verbs: ['create', 'register', 'put'], words: ['add', 'create', 'new'] },
  { verbs: ['delete', 'remove', 'revoke'], words: ['rm', 'delete', 'remove'] },
  { verbs: ['start'], words: ['run'] },
  { verbs: ['add-pending-region'], words: ['rescan'] },
]

/** Words that people try without a resource: each resource that has such a verb may be meant, the first above all. */
const usualResources = ['migrations', 'filesystems'] as const

/** Words for which no verb stands, and commands for them. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  cp: ['copy'],
  sync: ['copy'],
  verify: ['verifications create'],
  status: ['info', 'migrations list'],
  ps: ['migrations list'],
  logs: ['audit list', 'migrations failures', 'doctor'],
  serve: ['up'],
  pause: ['migrations stop'],
  retry: ['migrations retry-failures'],
  exclude: ['exclusions create-regex'],
  version: ['--version'],
}

/** Commands that may be meant by a word that people try first, such as `ls`. */
export function commandsTried(word: string): readonly string[] {
  const others = otherWords[word]
  if (others !== undefined) return others
  return usualResources.flatMap((resource) => {
    const verbs = contracts.flatMap((contract) => (contract.resource === resource ? [verbOf(contract)] : []))
    const tried = [{ verbs: [word], words: [word] }, ...synonyms].filter(({ words }) => words.includes(word))
    const verb = tried.flatMap((one) => one.verbs).find((one) => verbs.includes(one))
    return verb === undefined ? [] : [`${resource} ${verb}`]
  })
}

/** What people call a resource, beside its name without the plural. */
const shortNames: Readonly<Record<string, readonly string[]>> = { filesystems: ['fs'] }

/** Other words for a resource. */
export const otherNamesOf = (resource: string): readonly string[] => [
  resource.replace(/(?<=[a-z])s$/, ''),
  ...(shortNames[resource] ?? []),
]

/** The command of a word, by its name or by another that is taken for it. */
export const commandNamed = (parent: Command, word: string): Command | undefined =>
  parent.commands.find((command) => command.name() === word || command.aliases().includes(word))

/** Lets each command below `parent` be called by the words that people try, where no command has these. */
export function addAliases(parent: Command): void {
  const groups = parent.commands.filter(({ commands }) => commands.length > 0)
  for (const group of groups) {
    give(parent, group, otherNamesOf(group.name()))
    addAliases(group)
  }
  if (parent.parent === null) return
  const commands = parent.commands.filter((command) => !groups.includes(command))
  for (const { verbs, words } of synonyms) {
    const [first] = verbs.flatMap((verb) => commands.find((command) => command.name() === verb) ?? [])
    if (first !== undefined) give(parent, first, words)
  }
}

function give(parent: Command, command: Command, words: readonly string[]): void {
  for (const word of words) if (commandNamed(parent, word) === undefined) command.alias(word)
}
