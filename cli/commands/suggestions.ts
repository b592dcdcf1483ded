import type { Command } from 'commander'
import { commandNamed, commandsTried } from './aliases.ts'

/** As many as there are kinds of filesystems; more would be the help. */
const maxSuggestions = 8

/**
 * What may be meant by a word that is no command: a verb before its resource or without one, another tool's word, or the
 * beginning of several, as `create` of `create-local`.
 * @param args all words of the line
 */
export function commandsLike(parent: Command, word: string, args: readonly string[]): readonly string[] {
  if (parent.parent === null) {
    const resources = args.flatMap((arg) => commandNamed(parent, arg) ?? [])
    const turned = resources.flatMap((resource) => {
      const verb = commandNamed(resource, word)
      return verb === undefined ? [] : [`${parent.name()} ${resource.name()} ${verb.name()}`]
    })
    if (turned.length > 0) return turned.slice(0, 1)
    const tried = commandsTried(word)
    if (tried.length > 0) return tried.map((command) => `${parent.name()} ${command}`)
  }
  return beginning(
    parent.commands.map((command) => command.name()),
    word,
  )
}

/** The same for an option: a long one with one hyphen, or the beginning of several. */
export function optionsLike(command: Command, flag: string): readonly string[] {
  const help = command.createHelp()
  const known = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].flatMap(
    ({ long }) => long ?? [],
  )
  const long = flag.replace(/^-*/, '--').replace(/=.*/s, '').replaceAll('_', '-').toLowerCase()
  return known.includes(long) ? [long] : beginning(known, long)
}

const beginning = (known: readonly string[], word: string): readonly string[] => {
  const begun = known.filter((one) => one.startsWith(word))
  const ending = `-${word.replace(/^-+/, '')}`
  const found = begun.length > 0 ? begun : known.filter((one) => one.endsWith(ending))
  return found.slice(0, maxSuggestions)
}
