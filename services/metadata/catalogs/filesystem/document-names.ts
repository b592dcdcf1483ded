import type { StorePath } from '../../../drivers/contract/driver.ts'

/*
 * Names of files for names of objects. Any two differ, and each tells the name that it was made of, in every store: what not
 * all of them hold, or hold as it was given, is percent-encoded.
 */

const suffix = '.json'

/** Letters and digits of all scripts, and what stands between words. */
const plain = /^[\p{L}\p{N}_=-]$/u
const ascii = /^[A-Za-z0-9_=-]$/

/** The name of a folder. */
export function encodeName(name: string): string {
  // Some file systems keep only one form of what Unicode has two forms of.
  const isComposed = name === name.normalize('NFC')
  const characters = Array.from(name)
  // A dot at the start hides a file, and some stores take one at the end away.
  const isKept = (character: string, index: number) =>
    character === '.'
      ? index > 0 && index < characters.length - 1
      : (isComposed ? plain : ascii).test(character)
  return characters
    .map((character, index) => (isKept(character, index) ? character : hexOf(character)))
    .join('')
}

const hexOf = (character: string): string =>
  Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(
    '',
  )

/** The name that a folder's was made of; undefined for a folder that is none of these. */
export function decodeName(encoded: string): string | undefined {
  const bytes = encoded
    .split(/(%[0-9A-F]{2})/)
    .map((part, index) => (index % 2 === 1 ? Buffer.from(part.slice(1), 'hex') : Buffer.from(part)))
  const name = Buffer.concat(bytes).toString()
  return name !== '' && encodeName(name) === encoded ? name : undefined
}

/** The name of the file of a document. */
export const documentFile = (name: string): string => `${encodeName(name)}${suffix}`

/** The name that a file's was made of; undefined for a file that is no document. */
export const documentName = (file: string): string | undefined =>
  file.endsWith(suffix) ? decodeName(file.slice(0, -suffix.length)) : undefined

/** A path of segments as they are in the store. */
export const pathOf = (...segments: readonly string[]): StorePath => Buffer.from(segments.join('/'))
