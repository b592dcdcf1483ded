import type { Addressed } from '../../subjects/kit/contract.ts'

/** A list of the platform, and which field of its rows is the name. */
export interface NameList extends Addressed {
  readonly column: string
  readonly input: Readonly<Record<string, string | number>>
}

/** What can stand somewhere: one of some words, or a name that exists; anything, where it is neither. */
export interface Value {
  readonly choices?: readonly string[]
  readonly list?: NameList
}

export interface Flag extends Value {
  /** With its dashes, as all of its forms. */
  readonly long: string
  readonly short?: string
  readonly meaning: string
  readonly takesValue?: true
  /** Offered only to those who type its beginning. */
  readonly isHidden?: true
}

export interface Argument extends Value {
  readonly isVariadic?: true
}

/**
 * What can be typed, as plain data: it is kept, since to load all contracts and make the program of them takes longer than
 * somebody who presses TAB should wait.
 */
export interface CommandNode {
  readonly name: string
  readonly aliases: readonly string[]
  readonly meaning: string
  /** Its own; those of the commands above are taken as well. */
  readonly flags: readonly Flag[]
  readonly arguments: readonly Argument[]
  readonly commands: readonly CommandNode[]
}
