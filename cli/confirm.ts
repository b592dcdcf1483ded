import { createInterface } from 'node:readline/promises'
import { GantryError } from '../subjects/kit/errors.ts'
import type { Context } from './context.ts'
import { asTyped } from './as-typed.ts'

const answer = 'yes'

/**
 * Has somebody confirm what cannot be undone by the same key.
 * @throws GantryError INVALID_INPUT when nobody is there to ask, or the answer is another
 */
export async function confirm({ terminal }: Context, consequence: string, yes: boolean): Promise<void> {
  if (yes) return
  if (!terminal.isTty || !process.stdin.isTTY)
    throw new GantryError('INVALID_INPUT', `${consequence} Add --yes to confirm.`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const text = await lines.question(`${asTyped(terminal, consequence)} Type ${answer} to continue: `)
    if (text.trim() === answer) return
  } finally {
    lines.close()
  }
  throw new GantryError('INVALID_INPUT', 'not confirmed: nothing was changed')
}
