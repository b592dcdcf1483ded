import { isUtf8 } from 'node:buffer'
import { GantryError } from '../../subjects/kit/errors.ts'

/** A list of paths fits into a request of 1 MiB; each byte that is not printable takes three characters there. */
const maxFileBytes = 1_048_576

/**
 * The paths of a file, as `find` prints them: one a line, or with NUL between them when there is one in the file. Names are
 * kept byte for byte: `%`, control characters and what is not UTF-8 are percent-encoded, as the API takes them.
 * @throws GantryError INVALID_INPUT for a file that is too long or has no path
 */
export function pathLines(name: string, where: string, bytes: Buffer): string[] {
  if (bytes.length > maxFileBytes) {
    const problem = `${where} is larger than ${maxFileBytes} bytes: split the list`
    throw new GantryError('INVALID_INPUT', `${name}: ${problem}`)
  }
  const text = bytes.toString('latin1')
  const lines = text.split(text.includes('\0') ? '\0' : '\n').filter((line) => line !== '')
  if (lines.length === 0) throw new GantryError('INVALID_INPUT', `${name}: ${where} contains no path`)
  return lines.map((line) => encode(Buffer.from(line, 'latin1')))
}

function encode(path: Buffer): string {
  // oxlint-disable-next-line no-control-regex -- these are what is meant
  if (isUtf8(path)) return path.toString().replaceAll(/[%\x00-\x1f\x7f]/g, (one) => hex(one.charCodeAt(0)))
  return Array.from(path, (byte) =>
    byte > 0x20 && byte < 0x7f && byte !== 0x25 ? String.fromCharCode(byte) : hex(byte),
  ).join('')
}

const hex = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
