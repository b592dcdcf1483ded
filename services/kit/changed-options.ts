import { notAccepted } from '../../subjects/kit/errors.ts'
import type { Options } from '../../broker/identity/sealed-options.ts'

/** Ways of which there can be one only, each an option, or several that go together. */
type Alternatives = readonly (string | readonly string[])[]

/** What a kind says of its options, in `subjects/`. */
export interface KindOfOptions {
  readonly secrets: readonly string[]
  readonly sent?: { readonly to: readonly string[]; readonly secrets: readonly string[] }
  readonly alternatives?: readonly Alternatives[]
}

/** The options that stay when others of which there can be one only are given. */
export function withoutReplaced({ alternatives = [] }: KindOfOptions, stored: Options, changes: Options) {
  // What is turned off takes no place.
  const isGiven = (name: string) => changes[name] !== undefined && changes[name] !== false
  const replaced = alternatives.flatMap((group) => {
    const ways = group.map((way) => (typeof way === 'string' ? [way] : way))
    const given = ways.filter((way) => way.some(isGiven))
    return given.length === 0 ? [] : ways.filter((way) => !given.includes(way)).flat()
  })
  return Object.fromEntries(Object.entries(stored).filter(([name]) => !replaced.includes(name)))
}

/**
 * Whoever may change a filesystem or a catalog need not know its secrets, and must not get them by sending them to an address
 * of his own. Throws GantryError NOT_ACCEPTED where a secret is to be given again.
 * @param stored options, of which only those that are no secrets are looked at
 */
export function requireSecretsAgain({ sent }: KindOfOptions, stored: Options, changes: Options): void {
  if (sent === undefined) return
  const moved = sent.to.find((name) => {
    const [option = '', property] = name.split(/\.(.*)/s)
    if (!Object.hasOwn(changes, option)) return false
    return valueIn(changes[option], property) !== valueIn(stored[option], property)
  })
  const kept = sent.secrets.find((name) => stored[name] !== undefined && changes[name] === undefined)
  if (moved !== undefined && kept !== undefined)
    throw notAccepted(kept, `is sent to where ${moved} says: give it again with another ${moved}`)
}

/** An option, or one of the properties in it. */
const valueIn = (option: unknown, property: string | undefined): unknown =>
  property === undefined ? option : (option as Options | undefined)?.[property]
