/** Files one after the other, as a tar archive (POSIX ustar): any system can open it, and texts stay texts in it. */

/** A file of an archive. */
export interface Member {
  readonly name: string
  readonly sizeBytes: number
  readonly modifiedMs: number
  /** Content from a byte on, as text that ends with a whole character, and how many bytes that is. */
  readonly read: (from: number) => Promise<{ readonly text: string; readonly bytes: number }>
}

/** Headers and contents begin at multiples of it. */
const blockBytes = 512
/** Two empty blocks are the end. */
const end = '\0'.repeat(2 * blockBytes)

/** A part of an archive. @param from byte where it begins: 0, or `next` of the part before */
export async function archivePart(
  members: readonly Member[],
  from: number,
): Promise<{ content: string; next?: number }> {
  let at = 0
  let before = ''
  for (const member of members) {
    const head = before + headerOf(member)
    const begin = at + head.length
    if (from < begin) return { content: head.slice(from - at), next: begin }
    at = begin + member.sizeBytes
    if (from < at) {
      const { text, bytes } = await member.read(from - begin)
      return { content: text, next: from + bytes }
    }
    before = '\0'.repeat((blockBytes - (member.sizeBytes % blockBytes)) % blockBytes)
  }
  return { content: (before + end).slice(from - at) }
}

function headerOf({ name, sizeBytes, modifiedMs }: Member): string {
  const fields = (checksum: string) =>
    [
      text(name, 100),
      octal(0o600, 8),
      octal(0, 8),
      octal(0, 8),
      octal(sizeBytes, 12),
      octal(Math.floor(modifiedMs / 1_000), 12),
      checksum,
      '0',
      text('', 100),
      'ustar\x0000',
    ].join('')
  // The sum of all characters, its own field counted as blanks.
  const sum = Buffer.from(fields(' '.repeat(8))).reduce((total, byte) => total + byte, 0)
  return text(fields(`${octal(sum, 7)} `), blockBytes)
}

const text = (value: string, length: number): string => value.padEnd(length, '\0')
/** Ends with a NUL. */
const octal = (value: number, length: number): string =>
  text(value.toString(8).padStart(length - 1, '0'), length)
