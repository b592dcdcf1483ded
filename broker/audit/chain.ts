import { createHash } from 'node:crypto'

/** Records that were stored together, each with the hash over it and the one before. */
export interface Link {
  readonly previous: string
  readonly records: readonly { readonly hash: string; readonly text: string }[]
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * What the first record follows; where retention has taken all that there was, the next one follows the number of those
 * that are gone.
 */
export const genesisOf = (instance: string, gone: number): string =>
  sha256(`gantry audit ${instance} after ${gone}`)

/** A record is hashed as the text that is stored, so that there is one form of it. */
const hashOf = (previous: string, text: string): string => sha256(`${previous}\n${text}`)

/** The texts of records, none with a line break, as one message: the hash before them, then each with its own. */
export function encodeLink(previous: string, texts: readonly string[]): { body: string; hash: string } {
  let hash = previous
  const lines = texts.map((text) => `${(hash = hashOf(hash, text))} ${text}`)
  return { body: [previous, ...lines].join('\n'), hash }
}

const line = /^([0-9a-f]{64}) (\{.*\})$/

/** undefined when the message is none that `encodeLink` made. */
export function decodeLink(body: string): Link | undefined {
  const [previous = '', ...lines] = body.split('\n')
  const records = lines.flatMap((one) => {
    const [, hash, text] = line.exec(one) ?? []
    return hash === undefined || text === undefined ? [] : [{ hash, text }]
  })
  const isWhole = /^[0-9a-f]{64}$/.test(previous) && records.length > 0 && records.length === lines.length
  return isWhole ? { previous, records } : undefined
}

/** The hash that the next record has to follow, whatever has been done to the message. */
export const endOf = (body: string): string => decodeLink(body)?.records.at(-1)?.hash ?? sha256(body)

/** Index of the first record that does not follow the one before, or undefined when all do. */
export function faultIn({ previous, records }: Link): number | undefined {
  let before = previous
  for (const [index, { hash, text }] of records.entries()) {
    if (hash !== hashOf(before, text)) return index
    before = hash
  }
  return undefined
}
