import { hash, truncates } from 'bcryptjs'
import { GantryError } from '../../subjects/kit/errors.ts'

/** A check takes a quarter of a second: nothing for one who knows the password, ages for one who tries them all. */
const cost = 12
/** bcrypt looks at no more. */
const maxPasswordBytes = 72

/**
 * The bcrypt hash of a password as it comes from a file or a terminal, with a line break at its end or without.
 * @throws GantryError INVALID_INPUT when it is empty, several lines, or longer than bcrypt looks at
 */
export async function passwordHash(text: string): Promise<string> {
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new GantryError('INVALID_INPUT', 'stdin is empty: enter a password on one line')
  if (/[\r\n]/.test(password))
    throw new GantryError('INVALID_INPUT', 'stdin has more than one line: enter only the password')
  if (truncates(password)) {
    throw new GantryError('INVALID_INPUT', `the password is longer than ${maxPasswordBytes} bytes`)
  }
  return hash(password, cost)
}
