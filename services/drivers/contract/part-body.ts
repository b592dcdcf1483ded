/** Bytes that are asked of a body at once: a part of any size costs the memory of so many. */
export const bodyPieceBytes = 16 * 1024 * 1024

/**
 * Takes content as it comes, at its offset, and keeps none of the memory. What has to be asked for again is handed over again,
 * from its beginning. What it throws ends the reading.
 */
export type TakeBytes = (bytes: Buffer, at: number) => void

/** Content of a part, read as it is written: whoever writes it asks for pieces, and for some of them again. */
export interface PartBody {
  readonly sizeBytes: number
  /**
   * Exactly `length` bytes from `offset` of the part, valid until the next are asked for. Once it has thrown, the part cannot
   * be written.
   */
  read(offset: number, length: number): Promise<Buffer>
  /** Hands over all of it without keeping it; only where the source can. Throws what `take` throws. */
  pour?(take: TakeBytes): Promise<void>
}

/** All of a body, piece by piece. */
export async function* piecesOf(body: PartBody, pieceBytes = bodyPieceBytes): AsyncGenerator<Buffer> {
  for (let offset = 0; offset < body.sizeBytes; offset += pieceBytes)
    yield await body.read(offset, Math.min(pieceBytes, body.sizeBytes - offset))
}
