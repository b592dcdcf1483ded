/** What a terminal does not show: pasted into a command line, it could end the line, or turn its order around. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const escape = (character: string): string => {
  const code = character.codePointAt(0)!
  const hex = code.toString(16)
  return code < 0x80 ? `\\x${hex.padStart(2, '0')}` : `\\U${hex.padStart(8, '0')}`
}

/** A text as one word of a shell; with escapes of bash and zsh where it has characters that a terminal does not show. */
export const shellWord = (text: string): string => {
  if (/^[\w.:@/-]+$/.test(text)) return text
  if (text.search(unseen) === -1) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  return `$'${text.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll(unseen, escape)}'`
}

/** The same as an argument of a command, also where it begins with a hyphen; what follows it is no option then. */
export const shellArgument = (text: string): string =>
  text.startsWith('-') ? `-- ${shellWord(text)}` : shellWord(text)

/** Words of a command as a shell divides it, as far as examples go: quotes keep a word together, what follows `#` is a comment. */
export function shellWords(line: string): string[] {
  const words: string[] = []
  for (const [word] of line.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/gs)) {
    if (word.startsWith('#')) break
    words.push(
      word.replaceAll(
        /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs,
        (_, single: string | undefined, double: string | undefined, escaped: string | undefined) =>
          single ?? double ?? escaped ?? '',
      ),
    )
  }
  return words
}
