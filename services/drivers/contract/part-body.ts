/** Bytes that are asked of a body at once: a part of any size costs the memory of so many. */
export const bodyPieceBytes = 16 * 1024 * 1024

/** Content of a part, read as it is written: whoever writes it asks for pieces, and for some of them again. */
export interface PartBody {
  readonly sizeBytes: number
  /**
   * Exactly `length` bytes from `offset` of the part, valid until the next are asked for. Once it has thrown, the part cannot
   * be written.
   */
  read(offset: number, length: number): Promise<Buffer>
}

/** All of a body, piece by piece. */
export async function* piecesOf(body: PartBody, pieceBytes = bodyPieceBytes): AsyncGenerator<Buffer> {
  for (let offset = 0; offset < body.sizeBytes; offset += pieceBytes)
    yield await body.read(offset, Math.min(pieceBytes, body.sizeBytes - offset))
}
