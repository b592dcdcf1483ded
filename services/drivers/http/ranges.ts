import type { TakeBytes } from '../contract/driver.ts'
import type { Receiver, StoreAnswer } from './answer-reader.ts'

/** The header that asks for as many bytes as are taken. */
export const rangeOf = (offset: number, { length }: Receiver): string =>
  `bytes=${offset}-${offset + length - 1}`

/** Hands over what came otherwise than was asked for, as far as it is taken. Returns how many bytes came. */
export function received({ body, isReceived }: StoreAnswer, receiver: Receiver): number {
  if (isReceived) return receiver.length
  if (body.length === receiver.length) receiver.take(body, 0)
  return body.length
}

/**
 * Reads so many bytes with requests of a size, one after the other.
 * @param take gets all of them, by their offset from the first
 */
export async function inRanges(
  length: number,
  requestBytes: number,
  take: TakeBytes,
  read: (at: number, receiver: Receiver) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < length; at += requestBytes)
    await read(at, {
      length: Math.min(requestBytes, length - at),
      take: (bytes, offset) => take(bytes, at + offset),
    })
}
