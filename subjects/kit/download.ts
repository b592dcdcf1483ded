import { type Static, Type } from 'typebox'
import { Count, model } from './schemas.ts'

/**
 * Characters in one part of a text: it travels in a JSON string, which makes six bytes of a character at worst, and a
 * message holds 8 MiB.
 */
export const maxPartLength = 1024 * 1024

/** One part of a text that is too long for a message; a reply of every contract with `download`. */
export const Part = model('Part', {
  name: Type.String({ maxLength: 200, description: 'File name for the whole text' }),
  type: Type.String({ maxLength: 100, description: 'Media type of the text' }),
  content: Type.String({ maxLength: maxPartLength, description: 'Content of this part' }),
  next: Type.Optional(Count('`from` of the next part; absent in the last part')),
})
export type Part = Static<typeof Part>

/** Input of every contract with `download`: where the part begins. */
export const from = Type.Optional(Count('Start of the part: `next` of the previous part; default: 0'))
/** The field of `from`; neither a request over HTTP nor a command has it. */
export const partField = 'from'

/** The whole text, in parts. @param ask for the part that begins there */
export async function* contentsOf(
  first: Part,
  ask: (from: number) => Promise<Part>,
): AsyncGenerator<string, void> {
  for (let part = first; ; part = await ask(part.next)) {
    yield part.content
    if (part.next === undefined) return
  }
}
