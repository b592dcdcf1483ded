import type { TakeBytes } from '../contract/driver.ts'
import type { Receiver, StoreAnswer, Taker } from './answer-reader.ts'

/** The header that asks for as many bytes as are taken. */
export const rangeOf = (offset: number, { length }: Taker): string => `bytes=${offset}-${offset + length - 1}`

/** Whether an answer says that it is of just these bytes: a proxy may have another one at hand, or a late one. */
export function isRange(
  { status, headers }: Pick<StoreAnswer, 'status' | 'headers'>,
  offset: number,
  { length }: Taker,
): boolean {
  // All of it, where that was asked for.
  if (status === 200) return offset === 0
  const [, from, to] = /^bytes (\d+)-(\d+)\//.exec(headers['content-range'] ?? '') ?? []
  return status === 206 && Number(from) === offset && Number(to) === offset + length - 1
}

/**
 * Size of that which an answer is the beginning of; undefined where it is of another range.
 * @param askedBytes that were asked for, from the first on: there may be fewer
 */
export function sizeOfHead(
  { status, headers, body }: Pick<StoreAnswer, 'status' | 'headers' | 'body'>,
  askedBytes: number,
): number | undefined {
  if (status === 200) return body.length
  const told = /^bytes 0-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '')
  const [last, sizeBytes] = [Number(told?.[1]), Number(told?.[2])]
  const isRight = last + 1 === body.length && body.length <= Math.min(askedBytes, sizeBytes)
  return status === 206 && isRight ? sizeBytes : undefined
}

/** Hands over what came in pieces of no known length. Returns how many bytes came of what was asked for. */
export function received(answer: StoreAnswer, receiver: Receiver): number {
  const { body, isReceived } = answer
  if (isReceived) return receiver.length
  if (!receiver.accepts(answer)) return 0
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
  read: (at: number, taker: Taker) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < length; at += requestBytes)
    await read(at, {
      length: Math.min(requestBytes, length - at),
      take: (bytes, offset) => take(bytes, at + offset),
    })
}
