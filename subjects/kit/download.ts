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
  of: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'Id of the object that the text is of; further parts are requested with it instead of a name',
    }),
  ),
  next: Type.Optional(Count('`from` of the next part; absent in the last part')),
})
export type Part = Static<typeof Part>

/** Input of every contract with `download`: where the part begins. */
export const from = Type.Optional(Count('Start of the part: `next` of the previous part; default: 0'))
/** The field of `from`; neither a request over HTTP nor a command has it. */
export const partField = 'from'

/** Fields of the input that ask for a further part, in place of those that asked for the first. */
export interface Further {
  readonly from: number
  /** The id of the object, by its field. */
  readonly [by: string]: string | number
}

/**
 * The whole text, in parts, which are all of one object.
 * @param ask for a further part
 * @param by the field for the id of the object, of a contract that takes a name there
 */
export async function* contentsOf(
  first: Part,
  ask: (further: Further) => Promise<Part>,
  by?: string,
): AsyncGenerator<string, void> {
  for (let part = first; ;) {
    yield part.content
    const { next, of } = part
    if (next === undefined) return
    part = await ask({ from: next, ...(by !== undefined && of !== undefined && { [by]: of }) })
  }
}
