import { RE2JS } from 're2js'
import { refusedPattern } from './refused.ts'

const slash = '/'

/**
 * A glob as a pattern of RE2 for whole paths. `*` is any text without a slash, `**` any text, `?` a character that is no
 * slash, `[…]` one of some characters and `[!…]` one that is none of them, `{a,b}` one of several texts; a backslash makes
 * a character itself. A glob without a slash is for names, wherever they are; one that begins with a slash is for paths
 * from the root of the filesystem on; any other is for the ends of paths. Throws GantryError NOT_ACCEPTED.
 */
export function fromGlob(glob: string): string {
  if (glob.endsWith(slash)) {
    throw refusedPattern('ends with a slash; leave it out: a folder stands for all that is below it')
  }
  const isAnchored = glob.startsWith(slash)
  return `(?s)${isAnchored ? '' : '.*/'}${globBody(glob)}`
}

/**
 * The leading folders of a glob from the root on, a pattern for each, as far as their number is certain; undefined for any
 * other glob, which may match at any depth.
 */
export function leadingFolders(
  glob: string,
): { readonly folders: string[]; readonly isDeep: boolean } | undefined {
  if (!glob.startsWith(slash) || /[{\\]/.test(glob)) return undefined
  const segments = glob.slice(1).split(slash)
  const deep = segments.findIndex((segment) => segment.includes('**'))
  const folders = deep < 0 ? segments.slice(0, -1) : segments.slice(0, deep)
  return { folders: folders.map((folder) => `(?s)${globBody(folder)}`), isDeep: deep >= 0 }
}

function globBody(glob: string): string {
  let pattern = ''
  let depth = 0
  for (let at = 0; at < glob.length;) {
    const rest = glob.slice(at)
    const [character = ''] = rest
    let read = character.length
    if (rest.startsWith('**/') && (at === 0 || glob[at - 1] === slash)) {
      pattern += '(?:.*/)?'
      read = 3
    } else if (rest.startsWith('**')) {
      pattern += '.*'
      read = 2
    } else if (character === '*') pattern += '[^/]*'
    else if (character === '?') pattern += '[^/]'
    else if (character === '[') {
      const [length, written] = globClass(rest)
      pattern += written
      read = length
    } else if (character === '{') {
      depth++
      pattern += '(?:'
    } else if (character === '}' && depth > 0) {
      depth--
      pattern += ')'
    } else if (character === ',' && depth > 0) pattern += '|'
    else if (character === '\\') {
      const [itself] = rest.slice(1)
      if (itself === undefined) throw refusedPattern('is not a valid pattern: nothing follows a backslash')
      pattern += RE2JS.quote(itself)
      read = 1 + itself.length
    } else pattern += RE2JS.quote(character)
    at += read
  }
  if (depth > 0)
    throw refusedPattern('is not a valid pattern: a brace is not closed; write \\{ for the character')
  return pattern
}

/** `[a-z]`, `[!a-z]`, `[^a-z]`; a bracket that comes first is one of the characters. A slash never matches. */
function globClass(rest: string): [read: number, written: string] {
  const match = /^\[([!^]?)(\]?(?:\\[^]|[^\]\\])*)\]/.exec(rest)
  if (match === null || match[2] === '')
    throw refusedPattern('is not a valid pattern: a bracket is not closed; write \\[ for the character')
  const [whole, negated, members = ''] = match
  const ranges = [...members.matchAll(/([^\\])-([^\\])/g)]
  if (members.includes(slash) || ranges.some(([, first = '', last = '']) => first <= slash && slash <= last))
    throw refusedPattern('has a slash in brackets, which never match one')
  const escaped = members.replaceAll(/\\([^])|[[\]^&]/g, (found, itself: string | undefined) =>
    /[A-Za-z0-9]/.test(itself ?? '') ? itself! : `\\${itself ?? found}`,
  )
  return [whole.length, negated === '' ? `[${escaped}]` : `[^/${escaped}]`]
}
